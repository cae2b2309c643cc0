//! A daemon with a thousand connections, which is there for the questions alone.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::thread;

use mpt_api::{Connection, Reply, Response};
use tempfile::TempDir;

use crate::hosts::Daemon;

/// It answers every request with the same snapshot, on a thread of its own for each who asks.
pub(crate) struct Many {
    /// Its control socket.
    pub(crate) socket: PathBuf,
    _directory: TempDir,
}

impl Many {
    /// Starts one whose connections are like the first one of a daemon that runs.
    pub(crate) fn like(daemon: &Daemon) -> Many {
        let mut snapshot = daemon.show();
        let connection = snapshot.connections.remove(0);
        let named =
            |number| Connection { name: format!("client{number}.office"), ..connection.clone() };
        snapshot.connections = (0..1_000).map(named).collect();
        let answer = mpt_api::to_line(&Response::result(Reply::Snapshot(Box::new(snapshot))));
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("mptd.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, answer) = (stream.unwrap(), answer.clone());
                thread::spawn(move || {
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    while let Some(Ok(_)) = lines.next() {
                        if stream.write_all(answer.as_bytes()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Many { socket, _directory: directory }
    }
}
