//! Commands whose standard input is no terminal: `mpt setup` and `mpt join` ask nothing. A command that lacks something says at once how to give it,
//! and changes nothing; a command that can go on without it names the default and the flag for another one.

use std::io::Read;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use crate::hosts::wait_for;
use crate::machines::{Machine, Scene};

/// A kind of standard input that is no terminal.
#[derive(Clone, Copy, Debug)]
enum Input {
    /// A pipe that stays open and never says anything: reading it would take for ever.
    SilentPipe,
    /// `/dev/null`: reading it ends at once, as if nothing had been typed.
    Null,
}

const INPUTS: [Input; 2] = [Input::SilentPipe, Input::Null];

/// Runs a command to its end, which [`wait_for`] expects within its time.
fn run(mut command: Command, input: Input) -> Output {
    let stdin = match input {
        Input::SilentPipe => Stdio::piped(),
        Input::Null => Stdio::null(),
    };
    let mut child =
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It is held until the program has ended.
    let pipe = child.stdin.take();
    let stdout = reader(child.stdout.take().unwrap());
    let stderr = reader(child.stderr.take().unwrap());
    let status = Ended(child).wait();
    drop(pipe);
    Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

fn reader(mut from: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        from.read_to_end(&mut all).unwrap();
        all
    })
}

/// A program that is killed if it has not ended in time.
struct Ended(Child);

impl Ended {
    fn wait(mut self) -> std::process::ExitStatus {
        wait_for("the program ends without an answer", || self.0.try_wait().unwrap())
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command that has to fail as a wrong use, and returns what it says.
fn refused(machine: &Machine, arguments: &[&str], input: Input) -> String {
    let output = run(machine.command(arguments), input);
    assert_eq!(output.status.code(), Some(2), "{input:?}: mpt {arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_is_missing_is_named_with_its_flag_and_nothing_changes() {
    let scene = Scene::new(1);
    let (client, server) = (&scene.clients[0], &scene.server);
    // Without a default route a server does not know its address.
    server.host.ip("route del default");
    let before = [client.traces(), server.traces()];
    for input in INPUTS {
        for (machine, arguments, flags) in [
            (server, &["setup", "server"][..], &["--listen"][..]),
            (server, &["setup", "site"], &["--here", "--there"]),
            (client, &["setup", "site"], &["--here", "--there"]),
            (client, &["join"], &["<LINE>"]),
        ] {
            let said = refused(machine, arguments, input);
            for flag in flags {
                assert!(said.contains(flag), "{input:?}: mpt {arguments:?} names {flag}: {said}");
            }
            assert_eq!([client.traces(), server.traces()], before, "{input:?}: {arguments:?}");
        }
    }
}

#[test]
fn a_default_is_taken_without_a_question_and_named_with_the_flag_for_another() {
    let scene = Scene::new(2);
    let (first, second) = (scene.line(&[]), scene.server.succeeds(&["setup", "token"]));
    let second = crate::machines::line_of(&second);
    for ((machine, line), input) in scene.clients.iter().zip([first, second]).zip(INPUTS) {
        let output = run(machine.command(&["join", &line]), input);
        assert!(output.status.success(), "{input:?}: {output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        for flag in ["--dns ADDRESS", "--fallback block"] {
            assert!(said.contains(flag), "{input:?} names {flag}: {said}");
        }
        for question in ["direct or block?", "name servers ("] {
            assert!(!said.contains(question), "{input:?} asks: {said}");
        }
    }
}

#[test]
fn what_is_given_by_flags_is_not_named() {
    let scene = Scene::new(1);
    let line = scene.line(&[]);
    let command = scene.clients[0].command(&["join", "--no-dns", "--fallback", "block", &line]);
    let output = run(command, Input::SilentPipe);
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}
