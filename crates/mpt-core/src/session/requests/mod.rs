//! Requests and their results within a session (docs/protocol.md section 19): idempotent under
//! loss, duplication and reordering of frames.
//!
//! The requester repeats itself until the whole result is there; all that the responder has to
//! remember is what the last requests came to. A result is asked for in pieces, several at a time.
//! A request at offset 0 starts the work and carries the body; one at another offset asks for a
//! piece of a result that exists, needs no body and never starts anything.
//!
//! The responder keeps the results of the last [`RESULTS`] ids. So that none is dropped that the
//! requester still needs, the requester has no request on its way whose id is `RESULTS` or more
//! above that of its oldest one; requests above that wait.

mod assembly;
mod requester;
mod responder;

pub use requester::{
    Completed, FIRST_REPEAT, Failure, GIVE_UP, LAST_REPEAT, MAX_OUTSTANDING, RequestError,
    Requester, WINDOW,
};
pub use responder::{Action, MAX_KEPT, Responder, TooLong};

/// The number of results that the responder keeps, and so of requests that are under way or worked
/// on at a time.
pub const RESULTS: usize = SPAN as usize;
/// [`RESULTS`] as a difference between two ids.
const SPAN: u32 = 8;

#[cfg(test)]
mod testing {
    use std::time::{Duration, Instant};

    use mpt_wire::control::Message;

    use super::Requester;

    #[expect(clippy::disallowed_methods, reason = "any time will do as the first")]
    pub(super) fn start() -> Instant {
        Instant::now()
    }

    pub(super) const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Returns what is sent now: id, offset, and whether the body is there.
    pub(super) fn sent(requester: &mut Requester, now: Instant) -> Vec<(u32, u32, bool)> {
        let mut all = Vec::new();
        while let Some(message) = requester.poll(now) {
            let Message::Request { id, offset, body } = message else { panic!("{message:?}") };
            all.push((id, offset, !body.is_empty()));
        }
        all
    }

    /// A result of that length in which every byte tells its place.
    pub(super) fn result(len: usize) -> Vec<u8> {
        (0..len as u32).map(|at| (at / 251) as u8 ^ (at % 251) as u8).collect()
    }
}

#[cfg(test)]
mod tests {
    use mpt_wire::control::Message;
    use mpt_wire::control::message::MAX_RESULT_LEN;

    use super::testing::{result, sent, start};
    use super::*;

    #[test]
    fn a_short_result_takes_one_message_each_way() {
        let now = start();
        let (mut requester, mut responder) = (Requester::new(1), Responder::new());
        let id = requester.request(now, b"do".to_vec()).unwrap();
        assert_eq!(sent(&mut requester, now), [(id, 0, true)]);
        assert_eq!(responder.handle_request(now, id, 0), Action::Run);
        assert_eq!(responder.handle_request(now, id, 0), Action::Ignore);
        let message = responder.finish(now, id, b"done".to_vec()).unwrap();
        assert_eq!(message, Some(Message::Result { id, offset: 0, total: 4, chunk: b"done" }));
        let completed = Completed { id, result: b"done".to_vec() };
        assert_eq!(requester.handle_result(now, id, 0, 4, b"done"), Some(completed));
        assert_eq!(requester.handle_result(now, id, 0, 4, b"done"), None);
    }

    #[test]
    fn an_empty_result_is_a_result() {
        let now = start();
        let (mut requester, mut responder) = (Requester::new(1), Responder::new());
        let id = requester.request(now, Vec::new()).unwrap();
        assert_eq!(responder.handle_request(now, id, 0), Action::Run);
        let message = responder.finish(now, id, Vec::new()).unwrap();
        assert_eq!(message, Some(Message::Result { id, offset: 0, total: 0, chunk: &[] }));
        let completed = Completed { id, result: Vec::new() };
        assert_eq!(requester.handle_result(now, id, 0, 0, &[]), Some(completed));
    }

    #[test]
    fn a_long_result_comes_in_as_many_round_trips_as_there_are_windows() {
        let now = start();
        let (mut requester, mut responder) = (Requester::new(1), Responder::new());
        let whole = result(MAX_RESULT_LEN as usize);
        let id = requester.request(now, b"do".to_vec()).unwrap();
        assert_eq!(responder.handle_request(now, id, 0), Action::Run);
        assert!(responder.finish(now, id, whole.clone()).unwrap().is_some());
        let mut completed = None;
        let mut round_trips = 0;
        while completed.is_none() {
            round_trips += 1;
            for (id, offset, body) in sent(&mut requester, now) {
                assert_eq!(body, offset == 0);
                let Action::Send(Message::Result { total, chunk, .. }) =
                    responder.handle_request(now, id, offset)
                else {
                    panic!("a piece")
                };
                let done = requester.handle_result(now, id, offset, total, chunk);
                completed = completed.or(done);
            }
        }
        assert_eq!(completed, Some(Completed { id, result: whole }));
        assert_eq!(round_trips, 1 + 1023_usize.div_ceil(WINDOW));
    }
}
