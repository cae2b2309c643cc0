//! The control socket of a daemon on this host.

use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use mpt_api::{Command, Event, MAX_RESPONSE, Reply, Request, ResponseBody};

use crate::{Error, answer};

/// The time for an answer beyond the time after which the daemon itself gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A conversation on a control socket.
#[derive(Debug)]
pub struct Local(BufReader<UnixStream>);

impl Local {
    /// Connects to the socket of a daemon.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`]
    pub fn connect(socket: &Path) -> Result<Local, Error> {
        let stream = UnixStream::connect(socket).map_err(|error| {
            let advice = match error.kind() {
                io::ErrorKind::PermissionDenied => "run mpt as root or in the group of the socket",
                _ => "start mptd, or name its socket with --socket",
            };
            let socket = socket.display();
            Error::Unreachable(format!("{socket}: cannot reach mptd: {error}; {advice}"))
        })?;
        Ok(Local(BufReader::new(stream)))
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub fn call(&mut self, command: Command) -> Result<Reply, Error> {
        let patience = command.answered_within() + PATIENCE;
        let failed = |error| unreachable(error, patience);
        let stream = self.0.get_mut();
        stream.set_read_timeout(Some(patience)).map_err(failed)?;
        // A daemon that has no room answers without reading: its answer counts, not that it hung up.
        let written = stream.write_all(mpt_api::to_line(&Request::new(command)).as_bytes());
        let body = match (self.response(patience), written) {
            (Err(Error::Unreachable(_)), Err(error)) => return Err(failed(error)),
            (response, _) => response?,
        };
        crate::reply::reply(body)
    }

    /// Waits for the next event, however long.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub fn event(&mut self) -> Result<Event, Error> {
        let failed = |error| unreachable(error, Duration::MAX);
        self.0.get_mut().set_read_timeout(None).map_err(failed)?;
        match self.response(Duration::MAX)? {
            ResponseBody::Event(event) => Ok(event),
            ResponseBody::Error(failure) => Err(Error::Refused(failure)),
            ResponseBody::Result(reply) => Err(Error::unexpected(&reply)),
        }
    }

    fn response(&mut self, patience: Duration) -> Result<ResponseBody, Error> {
        match mpt_api::read_line(&mut self.0, MAX_RESPONSE) {
            Ok(Some(line)) => answer::parse(&line),
            Ok(None) => Err(Error::Unreachable("the daemon closed the connection".into())),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(Error::NotUnderstood(format!("the daemon's answer: {error}")))
            }
            Err(error) => Err(unreachable(error, patience)),
        }
    }
}

fn unreachable(error: io::Error, patience: Duration) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            Error::Unreachable(format!("no answer from the daemon within {} s", patience.as_secs()))
        }
        _ => Error::Unreachable(format!("lost the daemon: {error}")),
    }
}
