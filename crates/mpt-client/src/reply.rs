//! What an answer comes to.

use mpt_api::{Reply, ResponseBody};

use crate::Error;

/// Returns what an answer to a request comes to.
pub(crate) fn reply(body: ResponseBody) -> Result<Reply, Error> {
    match body {
        ResponseBody::Result(reply) => Ok(reply),
        ResponseBody::Error(failure) => Err(Error::Refused(failure)),
        ResponseBody::Event(_) => {
            Err(Error::NotUnderstood("the daemon sent an event instead of an answer".into()))
        }
    }
}
