//! What an answer comes to.

use mpt_api::{Code, Failure, Reply, ResponseBody};

use crate::Error;

/// What a steering session says to a monitor.
pub(crate) fn no_events() -> Error {
    let message = "a session with a daemon elsewhere carries answers, not events; ask it to show, again and again";
    Error::Refused(Failure::new(Code::BadRequest, message))
}

/// What an answer to a request comes to.
pub(crate) fn reply(body: ResponseBody) -> Result<Reply, Error> {
    match body {
        ResponseBody::Result(reply) => Ok(reply),
        ResponseBody::Error(failure) => Err(Error::Refused(failure)),
        ResponseBody::Event(_) => {
            Err(Error::NotUnderstood("the daemon sent an event instead of an answer".into()))
        }
    }
}
