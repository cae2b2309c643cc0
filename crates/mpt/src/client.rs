//! One conversation with the daemon.

use std::fmt;
use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use mpt_api::{
    Code, Command, Event, Failure, MAX_RESPONSE, Reply, Request, Response, ResponseBody, VERSION,
};

/// How long an answer may take: longer than the daemon takes to give up on itself.
const ANSWER: Duration = Duration::from_secs(60);

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The daemon says no.
    Refused(Failure),
    /// The daemon is not there, or went away.
    Unreachable(String),
    /// The daemon says something else than expected.
    NotUnderstood(String),
    /// Our own output cannot be written.
    Output(io::Error),
}

impl Failed {
    /// As documented in `--help`.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failed::Refused(failure) if failure.code == Code::Version => 4,
            Failed::Refused(_) | Failed::Output(_) => 1,
            Failed::Unreachable(_) => 3,
            Failed::NotUnderstood(_) => 4,
        }
    }

    /// An answer to another question.
    pub(crate) fn unexpected(reply: &Reply) -> Self {
        Failed::NotUnderstood(format!("the daemon gave an answer to another question: {reply:?}"))
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Refused(failure) => failure.fmt(f),
            Failed::Unreachable(message) | Failed::NotUnderstood(message) => f.write_str(message),
            Failed::Output(error) => write!(f, "cannot write: {error}"),
        }
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Failed::Output(error)
    }
}

pub(crate) struct Client(BufReader<UnixStream>);

impl Client {
    pub(crate) fn connect(socket: &Path) -> Result<Client, Failed> {
        UnixStream::connect(socket).map(|stream| Client(BufReader::new(stream))).map_err(|error| {
            let advice = match error.kind() {
                io::ErrorKind::PermissionDenied => "run mpt as root or in the group of the socket",
                _ => "start mptd, or name its socket with --socket",
            };
            let socket = socket.display();
            Failed::Unreachable(format!("{socket}: cannot reach mptd: {error}; {advice}"))
        })
    }

    /// Asks, and waits for the answer.
    pub(crate) fn request(&mut self, command: Command) -> Result<Reply, Failed> {
        let line = mpt_api::to_line(&Request::new(command));
        let stream = self.0.get_mut();
        stream.set_read_timeout(Some(ANSWER)).map_err(unreachable)?;
        // A daemon that has no room answers without reading: its answer counts, not that it hung up.
        let written = stream.write_all(line.as_bytes());
        match self.response() {
            Err(Failed::Unreachable(_)) if written.is_err() => {
                Err(unreachable(written.unwrap_err()))
            }
            Err(failed) => Err(failed),
            Ok(ResponseBody::Result(reply)) => Ok(reply),
            Ok(ResponseBody::Error(failure)) => Err(Failed::Refused(failure)),
            Ok(ResponseBody::Event(_)) => {
                Err(Failed::NotUnderstood("the daemon sent an event instead of an answer".into()))
            }
        }
    }

    /// Waits for the next event, however long.
    pub(crate) fn event(&mut self) -> Result<Event, Failed> {
        self.0.get_mut().set_read_timeout(None).map_err(unreachable)?;
        match self.response()? {
            ResponseBody::Event(event) => Ok(event),
            ResponseBody::Error(failure) => Err(Failed::Refused(failure)),
            ResponseBody::Result(reply) => Err(Failed::unexpected(&reply)),
        }
    }

    fn response(&mut self) -> Result<ResponseBody, Failed> {
        let line = match mpt_api::read_line(&mut self.0, MAX_RESPONSE) {
            Ok(Some(line)) => line,
            Ok(None) => return Err(Failed::Unreachable("the daemon closed the connection".into())),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(Failed::NotUnderstood(format!("the daemon's answer: {error}")));
            }
            Err(error) => return Err(unreachable(error)),
        };
        parse(&line)
    }
}

fn parse(line: &[u8]) -> Result<ResponseBody, Failed> {
    #[derive(serde::Deserialize)]
    struct Envelope {
        version: u32,
    }
    let garbled =
        |error| Failed::NotUnderstood(format!("the daemon's answer is not understood: {error}"));
    let version = serde_json::from_slice::<Envelope>(line).map_err(garbled)?.version;
    if version != VERSION {
        return Err(Failed::NotUnderstood(format!(
            "the daemon speaks version {version} of the control API, this mpt version {VERSION}; use the mpt of its release"
        )));
    }
    Ok(serde_json::from_slice::<Response>(line).map_err(garbled)?.body)
}

fn unreachable(error: io::Error) -> Failed {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            Failed::Unreachable(format!("no answer from the daemon within {} s", ANSWER.as_secs()))
        }
        _ => Failed::Unreachable(format!("lost the daemon: {error}")),
    }
}
