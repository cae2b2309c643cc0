//! `mpt-lab demo --live` keeps a tunnel with traffic, says the commands that show it, and ends in order when it is interrupted.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Returns the output of `mpt status --json`.
fn status(program: &str, socket: &str) -> serde_json::Value {
    let mut mpt = Command::new(program);
    let output = mpt.args(["--socket", socket, "status", "--json"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn by_the_commands_that_it_prints() {
    let scratch = tempfile::tempdir().unwrap();
    let mut command = common::demo();
    command.args(["--live", "--rate", "40"]).env("TMPDIR", scratch.path());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let said: Vec<String> = lines.take_while(|line| !line.starts_with("Ctrl-C here")).collect();
    let after = |before: &str| {
        let rest = said.iter().find_map(|line| line.trim().strip_prefix(before));
        rest.unwrap_or_else(|| panic!("{before} is not in {said:#?}")).to_owned()
    };
    let socket = after("export MPT_SOCKET=");
    let program = said.iter().find_map(|line| line.trim().split_once(" status "));
    let program = program.unwrap_or_else(|| panic!("{said:#?}")).0;

    let start = Instant::now();
    loop {
        let status = status(program, &socket);
        let paths = status["connections"][0]["paths"].as_array().cloned().unwrap_or_default();
        let rate: u64 =
            paths.iter().map(|it| it["sent_bits_per_second"].as_u64().unwrap_or(0)).sum();
        if status["state"] == "up" && rate > 10_000_000 {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{status:#}");
        thread::sleep(Duration::from_millis(200));
    }
    kill(Pid::from_raw(pid as i32), Signal::SIGINT).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(common::namespaces(pid), [""; 0]);
    assert_eq!(scratch.path().read_dir().unwrap().count(), 0, "files are left");
}
