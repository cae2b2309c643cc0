//! The way to the daemon that is asked, and what goes wrong.

pub(super) mod candidates;

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use mpt_api::{Code, Reply};
use mpt_client::{Client, Error, Local, Remote, Target};

use crate::command_line::args::Daemon;
use crate::monitoring::status::state::State;

/// Sessions that this process has opened.
static SESSIONS: AtomicU32 = AtomicU32::new(0);

/// The reason why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The daemon refused the request, or its answer is of no use.
    Daemon(Error),
    /// A file of this program cannot be read or written, or does not hold what it should.
    File(String),
    /// The command line names half a daemon.
    Usage(String),
    /// The doctor has found this many errors.
    Unwell(usize),
    /// The tunnel is in this state, which is not "up".
    State(State),
    /// The output of this program cannot be written.
    Output(io::Error),
}

impl Failed {
    /// Returns the exit code that `--help` documents.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failed::Daemon(Error::Refused(failure)) if failure.code == Code::Version => 4,
            Failed::Daemon(Error::Refused(_) | Error::Unusable(_)) => 1,
            Failed::Daemon(Error::Unreachable(_)) => 3,
            Failed::Daemon(Error::NotUnderstood(_)) => 4,
            Failed::File(_) | Failed::Unwell(_) | Failed::Output(_) => 1,
            Failed::Usage(_) => 2,
            Failed::State(state) => state.exit_code(),
        }
    }

    /// An answer to another question.
    pub(crate) fn unexpected(reply: &Reply) -> Self {
        Failed::Daemon(Error::unexpected(reply))
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Daemon(error) => error.fmt(f),
            Failed::File(message) | Failed::Usage(message) => f.write_str(message),
            Failed::Unwell(1) => f.write_str("one of the findings is an error"),
            Failed::Unwell(errors) => write!(f, "{errors} of the findings are errors"),
            Failed::State(state) => write!(f, "the tunnel is {state}"),
            Failed::Output(error) => write!(f, "cannot write: {error}"),
        }
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Failed::Output(error)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Failed::Daemon(error)
    }
}

/// Checks that the command line names a daemon, which need not be there now.
///
/// # Errors
///
/// [`Failed::Usage`] or [`Failed::File`]
pub(crate) fn check(daemon: &Daemon) -> Result<(), Failed> {
    match connect(daemon) {
        Err(failed @ (Failed::Usage(_) | Failed::File(_))) => Err(failed),
        _ => Ok(()),
    }
}

/// A conversation with the daemon that the command line names.
pub(crate) fn connect(daemon: &Daemon) -> Result<Client, Failed> {
    let Daemon { socket, remote, key, peer, psk } = daemon;
    let Some(remote) = remote else {
        if key.is_some() || peer.is_some() || psk.is_some() {
            let usage = "--key, --peer and --psk are for a daemon elsewhere: name it with --remote";
            return Err(Failed::Usage(usage.into()));
        }
        return Ok(Local::connect(socket)?.into());
    };
    let (Some(key), Some(peer)) = (key, peer) else {
        let usage = "--remote needs --key FILE, our private key, and --peer KEY, the public key of the daemon";
        return Err(Failed::Usage(usage.into()));
    };
    let target = Target {
        address: mpt_client::address(remote)?,
        peer: *peer,
        identity: mpt_client::private_key(key)?,
        psk: psk.as_deref().map(mpt_client::preshared_key).transpose()?,
        // Several may run at one time, and one may have several sessions.
        name: match SESSIONS.fetch_add(1, Ordering::Relaxed) {
            0 => format!("mpt {}", std::process::id()),
            more => format!("mpt {}.{more}", std::process::id()),
        },
    };
    Ok(Remote::connect(target)?.into())
}
