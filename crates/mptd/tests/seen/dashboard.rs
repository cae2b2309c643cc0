//! A running `mpt dashboard`, and `curl` to ask it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::command_line::mpt_at;
use crate::hosts::{Daemon, wait_for};

/// The process, killed when this is dropped.
pub(crate) struct Dashboard {
    process: Child,
    /// Its origin, such as `http://127.0.0.1:40123`.
    pub(crate) origin: String,
}

impl Dashboard {
    /// Starts it with these further arguments, on a port of 127.0.0.1 that the kernel chooses.
    pub(crate) fn start(daemon: &Daemon, arguments: &[&str]) -> Dashboard {
        Dashboard::start_at(&daemon.socket(), arguments)
    }

    /// Starts it like [`Dashboard::start`], for whatever answers on this control socket.
    pub(crate) fn start_at(socket: &Path, arguments: &[&str]) -> Dashboard {
        let mut command = mpt_at(socket, &["dashboard", "--listen", "127.0.0.1:0"]);
        let mut process = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let origin = line.split_whitespace().find(|word| word.starts_with("http://"));
        let origin = origin.unwrap_or_else(|| panic!("it says where it is: {line:?}"));
        Dashboard { process, origin: origin.trim_end_matches([',', '/']).to_owned() }
    }

    /// Asks with further arguments of `curl`. Returns the status and the body.
    pub(crate) fn ask(&self, path: &str, arguments: &[&str]) -> (u16, String) {
        let mut command = Command::new("curl");
        command.args(["--silent", "--max-time", "10", "--write-out", "\n%{http_code}"]);
        let output =
            command.args(arguments).arg(format!("{}{path}", self.origin)).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (body, code) = text.rsplit_once('\n').unwrap();
        (code.parse().unwrap(), body.to_owned())
    }

    /// Memory that it has, in KiB.
    pub(crate) fn memory_kib(&self) -> u64 {
        let status = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Files and sockets that it has open.
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }

    /// Waits until this stands in the answer.
    pub(crate) fn wait_for(&self, path: &str, expected: &str) -> String {
        wait_for(&format!("{expected} is in {path}"), || {
            let (_, body) = self.ask(path, &[]);
            body.contains(expected).then_some(body)
        })
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
