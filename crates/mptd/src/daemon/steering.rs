//! Controllers: programs elsewhere that ask, in a session of their own, what others ask on the control socket.

use mpt_api::{Code, Failure, Request, Response};
use mpt_core::control::SessionId;

use super::{Daemon, Error};

impl Daemon {
    /// Answers a request of a controller as far as it may ask for that. The answer goes out when it is there: nothing waits for it here.
    pub(super) async fn steer(
        &mut self,
        session: SessionId,
        id: u32,
        body: &[u8],
    ) -> Result<(), Error> {
        let command = Request::parse(body).and_then(|request| {
            let permission = request.command.permission();
            match self.controller(session) {
                Some(controller) if controller.allow.contains(&permission) => {
                    tracing::info!(controller = controller.name, ?permission, "request");
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
                "a session carries answers, not events; ask for \"show\" again",
            )),
            command => command,
        };
        let (server, data) = (self.server.clone(), self.data.clone());
        tokio::spawn(async move {
            let answer = match command {
                Ok(command) => server.answer(command, None).await,
                Err(failure) => Err(failure),
            };
            let body = mpt_api::to_line(&Response::from(answer)).into_bytes();
            // The session, or the daemon, may be gone.
            let _ = data.call(move |data| data.answer(session, id, body)).await;
        });
        Ok(())
    }
}
