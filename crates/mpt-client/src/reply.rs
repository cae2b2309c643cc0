//! The result of an answer.

use mpt_api::{Reply, ResponseBody};

use crate::Error;

/// Returns the reply or the error of an answer to a request.
pub(crate) fn reply(body: ResponseBody) -> Result<Reply, Error> {
    match body {
        ResponseBody::Result(reply) => Ok(reply),
        ResponseBody::Error(failure) => Err(Error::Refused(failure)),
        ResponseBody::Event(_) => {
            Err(Error::NotUnderstood("the daemon sent an event instead of an answer".into()))
        }
    }
}
