//! A daemon that plays a part, and the command line against it.
#![allow(dead_code, reason = "every test file uses a part of this")]

use std::io::{BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;

use mpt_api::{Code, Failure, MAX_REQUEST, Reply, Request, Response, read_line, to_line};

/// A daemon for one client: gives the same bytes to whatever is asked, and tells afterwards what that was.
pub(crate) struct FakeDaemon {
    pub(crate) socket: PathBuf,
    requests: JoinHandle<Option<Request>>,
    _directory: tempfile::TempDir,
}

impl FakeDaemon {
    pub(crate) fn answering(answer: impl Into<Vec<u8>>) -> FakeDaemon {
        let answer = answer.into();
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("mptd.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let requests = std::thread::spawn(move || {
            let (mut stream, _): (UnixStream, _) = listener.accept().unwrap();
            let line = read_line(&mut BufReader::new(&stream), MAX_REQUEST).unwrap()?;
            stream.write_all(&answer).unwrap();
            Some(Request::parse(&line).unwrap())
        });
        FakeDaemon { socket, requests, _directory: directory }
    }

    pub(crate) fn replying(reply: Reply) -> FakeDaemon {
        FakeDaemon::answering(to_line(&Response::result(reply)))
    }

    pub(crate) fn refusing(code: Code, message: &str) -> FakeDaemon {
        FakeDaemon::answering(to_line(&Response::error(Failure::new(code, message))))
    }

    /// Runs `mpt` with these arguments: what was asked, and what came of it.
    pub(crate) fn run(self, args: &[&str]) -> (mpt_api::Command, Outcome) {
        let output = mpt().arg("--socket").arg(&self.socket).args(args).output().unwrap();
        let request = self.requests.join().unwrap().expect("a request");
        (request.command, output.into())
    }
}

pub(crate) fn mpt() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpt"));
    command.env_remove("MPT_SOCKET").stdin(Stdio::null());
    command
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Outcome {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

pub(crate) fn outcome(code: i32, stdout: &str, stderr: &str) -> Outcome {
    Outcome { code: Some(code), stdout: stdout.into(), stderr: stderr.into() }
}
