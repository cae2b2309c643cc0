//! Controllers: programs elsewhere that ask, in a session of their own, what others ask on the control socket.

use mpt_api::{Code, Failure, Request, Response};
use mpt_core::session::SessionId;
use mpt_wire::control::message::MAX_RESULT_LEN;

use crate::control::requester::Requester;
use crate::daemon::{Daemon, Error};

impl Daemon {
    /// Answers a request of a controller as far as it may ask for that. The answer goes out when it is there: nothing waits for it here.
    pub(in crate::daemon) async fn steer(
        &mut self,
        session: SessionId,
        id: u32,
        body: &[u8],
    ) -> Result<(), Error> {
        let name = self.controller(session).map(|it| it.name.clone());
        let command = Request::parse(body).and_then(|request| {
            let permission = request.command.permission();
            match self.controller(session) {
                Some(controller) if controller.allow.contains(&permission) => {
                    let controller = &controller.name;
                    tracing::debug!(controller, %permission, "request by controller");
                    Ok(request.command)
                }
                _ => {
                    let word = permission.word();
                    let message = format!("this key is not allowed \"{word}\"; see [[controller]]");
                    Err(Failure::new(Code::Denied, message))
                }
            }
        });
        let command = match command {
            Ok(mpt_api::Command::Monitor) => Err(Failure::new(
                Code::BadRequest,
                "a session carries answers; ask for \"events\" again and again",
            )),
            command => command,
        };
        let (server, shards) = (self.server.clone(), self.shards.clone());
        tokio::spawn(async move {
            let answer = match command {
                Ok(command) => {
                    let by = Requester { controller: name, ..Requester::default() };
                    server.answer(command, &by).await
                }
                Err(failure) => Err(failure),
            };
            let body = to_body(&Response::from(answer));
            // The session, or the daemon, may be gone.
            let shard = shards.of_session(session);
            let _ = shard.call(move |data| data.answer(session, id, body)).await;
        });
        Ok(())
    }
}

/// An answer as it goes into a session: without the end of a line, and as long as one may be.
fn to_body(answer: &Response) -> Vec<u8> {
    let mut body = mpt_api::to_line(answer).into_bytes();
    body.pop();
    if body.len() <= MAX_RESULT_LEN as usize {
        return body;
    }
    let message = format!(
        "the answer has {} bytes, and a session carries {MAX_RESULT_LEN}; ask on the control socket",
        body.len()
    );
    to_body(&Response::from(Err(Failure::new(Code::Failed, message))))
}

#[cfg(test)]
mod tests {
    use mpt_api::{Changed, Reply};

    use super::*;

    #[test]
    fn an_answer_that_is_too_long_is_told() {
        let answer = |len| {
            let changed = Changed { changes: vec!["x".repeat(len)], warnings: Vec::new() };
            to_body(&Response::from(Ok(Reply::Changed(changed))))
        };
        let rest = answer(0).len();
        let longest = MAX_RESULT_LEN as usize;
        assert_eq!(answer(longest - rest).len(), longest);
        let failure = String::from_utf8(answer(longest - rest + 1)).unwrap();
        assert!(failure.contains("the answer has 1048577 bytes"), "{failure}");
    }
}
