//! The errors of a request.

use std::fmt;

use mpt_api::{Failure, Reply};

/// The reason why a request was not carried out, or not known to be. [`fmt::Display`] says it for people, with what to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The daemon refused the request.
    Refused(Failure),
    /// The daemon is not there, went away, or does not answer this program. The request may have been carried out.
    Unreachable(String),
    /// The daemon's answer is not the expected one.
    NotUnderstood(String),
    /// An argument cannot be used: an address, a key file, a request too long for a session.
    Unusable(String),
}

impl Error {
    /// An answer to another question.
    pub fn unexpected(reply: &Reply) -> Self {
        let word = reply.word();
        Error::NotUnderstood(format!("the daemon gave an answer to another question: \"{word}\""))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(failure) => failure.fmt(f),
            Error::Unreachable(message)
            | Error::NotUnderstood(message)
            | Error::Unusable(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}
