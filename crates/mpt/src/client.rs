//! One conversation with a daemon.

use std::fmt;
use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use mpt_api::{
    Code, Command, Event, Failure, MAX_RESPONSE, Reply, Request, Response, ResponseBody, VERSION,
};

/// How much longer than the daemon takes to give up on itself an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The daemon says no.
    Refused(Failure),
    /// The daemon is not there, or went away.
    Unreachable(String),
    /// The daemon says something else than expected.
    NotUnderstood(String),
    /// A file of ours cannot be read or written, or does not hold what it should.
    File(String),
    /// Our own output cannot be written.
    Output(io::Error),
}

impl Failed {
    /// As documented in `--help`.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failed::Refused(failure) if failure.code == Code::Version => 4,
            Failed::Refused(_) | Failed::File(_) | Failed::Output(_) => 1,
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
            Failed::Unreachable(message)
            | Failed::NotUnderstood(message)
            | Failed::File(message) => f.write_str(message),
            Failed::Output(error) => write!(f, "cannot write: {error}"),
        }
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Failed::Output(error)
    }
}

/// The way to a daemon.
#[derive(Debug)]
enum Transport {
    /// The control socket of a daemon on this host.
    Local(BufReader<UnixStream>),
}

#[derive(Debug)]
pub(crate) struct Client(Transport);

impl Client {
    /// A conversation over the control socket of a daemon on this host.
    pub(crate) fn connect(socket: &Path) -> Result<Client, Failed> {
        let stream = UnixStream::connect(socket).map_err(|error| {
            let advice = match error.kind() {
                io::ErrorKind::PermissionDenied => "run mpt as root or in the group of the socket",
                _ => "start mptd, or name its socket with --socket",
            };
            let socket = socket.display();
            Failed::Unreachable(format!("{socket}: cannot reach mptd: {error}; {advice}"))
        })?;
        Ok(Client(Transport::Local(BufReader::new(stream))))
    }

    /// Asks, and waits for the answer.
    pub(crate) fn request(&mut self, command: Command) -> Result<Reply, Failed> {
        match self.0.exchange(&Request::new(command))? {
            ResponseBody::Result(reply) => Ok(reply),
            ResponseBody::Error(failure) => Err(Failed::Refused(failure)),
            ResponseBody::Event(_) => {
                Err(Failed::NotUnderstood("the daemon sent an event instead of an answer".into()))
            }
        }
    }

    /// Waits for the next event, however long.
    pub(crate) fn event(&mut self) -> Result<Event, Failed> {
        match self.0.next()? {
            ResponseBody::Event(event) => Ok(event),
            ResponseBody::Error(failure) => Err(Failed::Refused(failure)),
            ResponseBody::Result(reply) => Err(Failed::unexpected(&reply)),
        }
    }
}

impl Transport {
    /// Sends a request and waits for what comes back.
    fn exchange(&mut self, request: &Request) -> Result<ResponseBody, Failed> {
        match self {
            Transport::Local(reader) => {
                let patience = request.command.answered_within() + PATIENCE;
                let failed = |error| unreachable(error, patience);
                let stream = reader.get_mut();
                stream.set_read_timeout(Some(patience)).map_err(failed)?;
                // A daemon that has no room answers without reading: its answer counts, not that it hung up.
                let written = stream.write_all(mpt_api::to_line(request).as_bytes());
                match response(reader, patience) {
                    Err(Failed::Unreachable(_)) if written.is_err() => {
                        Err(failed(written.unwrap_err()))
                    }
                    outcome => outcome,
                }
            }
        }
    }

    /// Waits for what comes next, however long.
    fn next(&mut self) -> Result<ResponseBody, Failed> {
        match self {
            Transport::Local(reader) => {
                let failed = |error| unreachable(error, Duration::MAX);
                reader.get_mut().set_read_timeout(None).map_err(failed)?;
                response(reader, Duration::MAX)
            }
        }
    }
}

fn response(
    reader: &mut BufReader<UnixStream>,
    patience: Duration,
) -> Result<ResponseBody, Failed> {
    match mpt_api::read_line(reader, MAX_RESPONSE) {
        Ok(Some(line)) => parse(&line),
        Ok(None) => Err(Failed::Unreachable("the daemon closed the connection".into())),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Failed::NotUnderstood(format!("the daemon's answer: {error}")))
        }
        Err(error) => Err(unreachable(error, patience)),
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

fn unreachable(error: io::Error, patience: Duration) -> Failed {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Failed::Unreachable(format!(
            "no answer from the daemon within {} s",
            patience.as_secs()
        )),
        _ => Failed::Unreachable(format!("lost the daemon: {error}")),
    }
}
