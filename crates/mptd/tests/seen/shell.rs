//! A shell of the administrator of a host: in its network namespace, with an /etc and a /run of its own, where `mpt` and `mptd` are in the PATH.
//! So the commands of the documents are run as they stand there.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::command_line::program;
use crate::hosts::Host;

/// Mark between the output of each command and its exit code.
const DONE: &str = "::done::";
/// Makes the directories that belong to the host alone. A failure ends the shell.
const PREPARE: &str = "set -e\n\
    mount -t tmpfs tmpfs /mnt && cp -a /etc/. /mnt && mount --move /mnt /etc\n\
    mkdir -p /etc/mpt && chmod 750 /etc/mpt\n\
    mount -t tmpfs tmpfs /run && mkdir -p /run/mpt\n\
    set +e\n";

/// The shell, killed with what it has started when this is dropped.
pub(crate) struct Shell {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Shell {
    pub(crate) fn new(host: &Host) -> Self {
        let mut command = host.namespace.command("unshare").unwrap();
        command.args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]);
        command.args(["--mount-proc", "sh"]);
        let programs = [program(), Path::new(env!("CARGO_BIN_EXE_mptd")).to_owned()];
        let mut path: Vec<_> = programs.iter().map(|it| it.parent().unwrap().to_owned()).collect();
        path.extend(["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(Into::into));
        command.env("PATH", env::join_paths(path).unwrap());
        for variable in ["MPT_SOCKET", "MPT_DIRECTORY", "MPT_STATE"] {
            command.env_remove(variable);
        }
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut shell = Self { process, input, output };
        shell.succeeds(PREPARE);
        shell
    }

    /// Runs a command. Returns its exit code and what it has printed.
    pub(crate) fn run(&mut self, command: &str) -> (i32, String) {
        writeln!(self.input, "{{ {command}\n}} 2>&1 </dev/null; echo {DONE}$?").unwrap();
        let mut printed = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).unwrap();
            assert!(read > 0, "the shell ended at {command}: {printed}");
            // The output of the command may have no end of line.
            if let Some((last, code)) = line.trim_end().split_once(DONE) {
                return (code.parse().unwrap(), printed + last);
            }
            printed += &line;
        }
    }

    /// Runs a command that has to succeed, and returns its output.
    pub(crate) fn succeeds(&mut self, command: &str) -> String {
        let (code, printed) = self.run(command);
        assert_eq!(code, 0, "{command}: {printed}");
        printed
    }

    /// Starts a program that goes on, with its output in a file that is shown when a test fails.
    pub(crate) fn start(&mut self, command: &str) {
        self.succeeds(&format!("{command} >>/run/started.log 2>&1 &"));
    }

    pub(crate) fn write(&mut self, file: &str, text: &str) {
        self.succeeds(&format!("cat >{file} <<'END-OF-FILE'\n{text}\nEND-OF-FILE"));
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(self.input, "cat /run/started.log >&2");
        } else {
            // In order, so that a daemon removes what it has made.
            let _ = writeln!(self.input, "kill -TERM -1; wait");
        }
        let _ = writeln!(self.input, "exit");
        let _ = self.process.wait();
    }
}
