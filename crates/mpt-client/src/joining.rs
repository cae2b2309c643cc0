//! Becoming a client of a server, with a token.

use std::fmt;
use std::time::{Duration, Instant};

use mpt_api::session::{Join, Joined, SessionFailure, SessionReply, SessionRequest, SessionResult};
use mpt_wire::control::Kind;

use crate::Target;
use crate::session::{Lost, Session};

/// The longest time that the server may take to write the client down.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The reason why a host has not become a client.
#[derive(Debug)]
pub enum NotJoined {
    /// The server is not reached this way, or does not answer to this token.
    Silent(String),
    /// The server refused the host, with a reason.
    Refused(SessionFailure),
    /// The answer did not come: the host may have become a client all the same. To ask again with the same key is safe.
    Unknown(String),
}

impl fmt::Display for NotJoined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotJoined::Silent(why) | NotJoined::Unknown(why) => f.write_str(why),
            NotJoined::Refused(failure) => write!(f, "the server refuses: {failure}"),
        }
    }
}

/// Registers the public key of `target.identity` at a server. `target.name` and `target.psk` are those of the token. With an interface, only that
/// one is used. The handshake may take as long as `within`.
///
/// # Errors
///
/// [`NotJoined`]
pub fn join(
    target: &Target,
    interface: Option<&str>,
    host: &str,
    within: Duration,
) -> Result<Joined, NotJoined> {
    let session = Session::establish(target, Kind::Joining, interface, Instant::now() + within);
    let mut session = session.map_err(|lost| NotJoined::Silent(explain(&lost, within)))?;
    let body = SessionRequest::Join(Join { host: host.to_owned() }).to_body();
    let result = session.request(body, Instant::now() + ANSWER_WITHIN).map_err(|lost| {
        NotJoined::Unknown(format!(
            "the server answers, but its result does not arrive ({}); run this again",
            explain(&lost, ANSWER_WITHIN)
        ))
    })?;
    match SessionReply::parse(&result) {
        Ok(SessionReply::Ok(SessionResult::Joined(joined))) => Ok(joined),
        Ok(SessionReply::Ok(_)) => {
            Err(NotJoined::Unknown("the server answers another question".into()))
        }
        Ok(SessionReply::Error(failure)) | Err(failure) => Err(NotJoined::Refused(failure)),
    }
}

fn explain(lost: &Lost, within: Duration) -> String {
    match lost {
        Lost::Socket(error) => error.to_string(),
        Lost::NoKeys { trouble: Some(trouble), .. }
        | Lost::Unanswered { trouble: Some(trouble) } => trouble.to_string(),
        Lost::NoKeys { disagree: true, .. } => "the server has another token of this name".into(),
        Lost::NoKeys { .. } => format!("no answer within {} s", within.as_secs()),
        Lost::TooLong(message) => message.clone(),
        Lost::Ended => "the server ended the session".into(),
        Lost::Unanswered { trouble: None } => "no answer".into(),
    }
}
