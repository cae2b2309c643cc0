//! The requesting side: repeats a request until the whole result is there.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mpt_wire::control::Message;
use mpt_wire::control::message::{MAX_CHUNK_LEN, MAX_REQUEST_LEN, MAX_RESULT_LEN};

use super::SPAN;
use super::assembly::Assembly;

/// The most requests that may be unanswered at a time, those that wait included. It bounds what the
/// requester has to keep to this many results of 1 MiB.
pub const MAX_OUTSTANDING: usize = 16;
/// The number of pieces of one result that are asked for at a time.
pub const WINDOW: usize = 8;
/// A request is repeated after this at first,
pub const FIRST_REPEAT: Duration = Duration::from_millis(200);
/// then after twice as long each time, but not longer than this.
pub const LAST_REPEAT: Duration = Duration::from_secs(2);
/// A request fails when nothing new of its result has come for so long.
pub const GIVE_UP: Duration = Duration::from_secs(30);

/// The reason for which a request is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum RequestError {
    /// Longer than 1,024 bytes.
    #[error("the request is longer than {MAX_REQUEST_LEN} bytes")]
    TooLong,
    /// [`MAX_OUTSTANDING`] requests are unanswered.
    #[error("{MAX_OUTSTANDING} requests are unanswered")]
    TooMany,
}

/// The reason for which a request has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Failure {
    /// Nothing of a result arrived. Whether the request was run is unknown.
    #[error("no answer")]
    Unanswered,
    /// A part of the result came, so the request was run.
    #[error("only a part of the answer came")]
    Incomplete,
}

/// A request whose result is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The id that [`Requester::request`] returned.
    pub id: u32,
    /// The whole result.
    pub result: Vec<u8>,
}

/// The requesting side of a session.
#[derive(Clone, Debug)]
pub struct Requester {
    next_id: u32,
    /// By id.
    pending: VecDeque<Pending>,
}

#[derive(Clone, Debug)]
struct Pending {
    id: u32,
    body: Vec<u8>,
    gives_up: Instant,
    /// The cells that are being asked for, at most [`WINDOW`]; only the first while the length of
    /// the result is unknown.
    asks: Vec<Ask>,
    /// Once a piece of the result came.
    assembly: Option<Assembly>,
}

/// One cell of a result, asked for until it is there.
#[derive(Clone, Copy, Debug)]
struct Ask {
    cell: usize,
    due: Instant,
    repeat: Duration,
}

impl Ask {
    fn new(cell: usize, now: Instant) -> Self {
        Self { cell, due: now, repeat: FIRST_REPEAT }
    }
}

impl Requester {
    /// A requester whose requests count from `first_id`.
    ///
    /// A random one: the responder may remember requests of a former life of this end, and takes
    /// those near them for old.
    pub fn new(first_id: u32) -> Self {
        Self { next_id: first_id, pending: VecDeque::new() }
    }

    /// Makes a request. The id names it from now on.
    ///
    /// # Errors
    ///
    /// [`RequestError`]: nothing happens.
    pub fn request(&mut self, now: Instant, body: Vec<u8>) -> Result<u32, RequestError> {
        if body.len() > MAX_REQUEST_LEN {
            return Err(RequestError::TooLong);
        }
        if self.pending.len() >= MAX_OUTSTANDING {
            return Err(RequestError::TooMany);
        }
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        self.pending.push_back(Pending {
            id,
            body,
            gives_up: now + GIVE_UP,
            asks: vec![Ask::new(0, now)],
            assembly: None,
        });
        Ok(id)
    }

    /// Returns how many requests have neither completed nor failed.
    pub fn outstanding(&self) -> usize {
        self.pending.len()
    }

    /// Takes a [`Message::Request`] that is due, to be sent over any path. To be called until
    /// there is none.
    pub fn poll(&mut self, now: Instant) -> Option<Message<'_>> {
        let on_their_way = self.on_their_way();
        let (request, ask) =
            self.pending.iter_mut().take(on_their_way).find_map(|request| request.take_due(now))?;
        let offset = request.assembly.as_ref().map_or(0, |assembly| assembly.position(ask.cell));
        let body = if offset == 0 { &request.body[..] } else { &[] };
        let offset = u32::try_from(offset).ok()?;
        Some(Message::Request { id: request.id, offset, body })
    }

    /// Takes a request that nothing more has been heard of for [`GIVE_UP`]. To be called until
    /// there is none, and before [`poll`](Self::poll): others may have waited for it.
    pub fn poll_failure(&mut self, now: Instant) -> Option<(u32, Failure)> {
        let at = self.pending.iter().position(|request| request.gives_up <= now)?;
        let request = self.pending.remove(at)?;
        let failure =
            if request.assembly.is_some() { Failure::Incomplete } else { Failure::Unanswered };
        Some((request.id, failure))
    }

    /// Handles a [`Message::Result`]. It may be late, doubled, or none of ours.
    ///
    /// More pieces, or requests that waited, are due at once: [`poll`](Self::poll) has to follow.
    pub fn handle_result(
        &mut self,
        now: Instant,
        id: u32,
        offset: u32,
        total: u32,
        chunk: &[u8],
    ) -> Option<Completed> {
        let on_their_way = self.on_their_way();
        let at = self.pending.iter().take(on_their_way).position(|request| request.id == id)?;
        let request = self.pending.get_mut(at)?;
        if request.gives_up <= now || !request.fill(now, offset, total, chunk) {
            return None;
        }
        let result = self.pending.remove(at)?.assembly?.into_result();
        Some(Completed { id, result })
    }

    /// Returns when to call [`poll_failure`](Self::poll_failure) and [`poll`](Self::poll) again.
    pub fn next_timeout(&self) -> Option<Instant> {
        let asks = self.pending.iter().take(self.on_their_way()).flat_map(|request| &request.asks);
        let gives_up = self.pending.iter().map(|request| request.gives_up);
        asks.map(|ask| ask.due).chain(gives_up).min()
    }

    /// Returns how many of the pending requests may be sent, from the oldest on.
    fn on_their_way(&self) -> usize {
        let Some(oldest) = self.pending.front() else { return 0 };
        self.pending.partition_point(|request| request.id.wrapping_sub(oldest.id) < SPAN)
    }
}

impl Pending {
    /// An ask whose time has come, and sets the next time.
    fn take_due(&mut self, now: Instant) -> Option<(&Self, Ask)> {
        if self.gives_up <= now {
            return None;
        }
        let ask = self.asks.iter_mut().find(|ask| ask.due <= now)?;
        ask.due = now + ask.repeat;
        ask.repeat = (ask.repeat * 2).min(LAST_REPEAT);
        let ask = *ask;
        Some((self, ask))
    }

    /// Takes what is new in a piece; whether the result is complete by that. Pieces that cannot be
    /// of this result change nothing.
    fn fill(&mut self, now: Instant, offset: u32, total: u32, chunk: &[u8]) -> bool {
        let (offset, len) = (offset as usize, total as usize);
        let end = offset.saturating_add(chunk.len());
        if total > MAX_RESULT_LEN || end > len || (chunk.is_empty() && len > 0) {
            return false;
        }
        let assembly = self.assembly.get_or_insert_with(|| Assembly::new(len));
        if assembly.len() != len {
            return false;
        }
        for cell in offset / MAX_CHUNK_LEN..end.div_ceil(MAX_CHUNK_LEN) {
            if !assembly.fill(cell, offset, chunk) {
                continue;
            }
            self.gives_up = now + GIVE_UP;
            if assembly.is_filled(cell) {
                if let Some(ask) = self.asks.iter().position(|ask| ask.cell == cell) {
                    self.asks.swap_remove(ask);
                }
            } else if let Some(ask) = self.asks.iter_mut().find(|ask| ask.cell == cell) {
                *ask = Ask::new(cell, now);
            }
        }
        while self.asks.len() < WINDOW
            && let Some(cell) = assembly.take_next()
        {
            self.asks.push(Ask::new(cell, now));
        }
        assembly.is_complete()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::requests::testing::{ms, result, sent, start};

    #[test]
    fn a_request_is_repeated_until_it_is_given_up() {
        let start = start();
        let mut requester = Requester::new(7);
        let id = requester.request(start, b"do".to_vec()).unwrap();
        let mut times = Vec::new();
        let failure = loop {
            let now = requester.next_timeout().unwrap();
            if let Some(failure) = requester.poll_failure(now) {
                times.push((now - start).as_millis());
                break failure;
            }
            assert_eq!(sent(&mut requester, now), [(id, 0, true)]);
            times.push((now - start).as_millis());
        };
        assert_eq!(failure, (7, Failure::Unanswered));
        assert_eq!(times[..7], [0, 200, 600, 1400, 3000, 5000, 7000]);
        assert_eq!(times[times.len() - 2..], [29_000, 30_000]);
        assert_eq!((requester.outstanding(), requester.next_timeout()), (0, None));
    }

    #[test]
    fn shorter_pieces_and_overlapping_ones_will_do() {
        let now = start();
        let mut requester = Requester::new(1);
        let whole = result(2500);
        let id = requester.request(now, b"do".to_vec()).unwrap();
        assert_eq!(sent(&mut requester, now).len(), 1);
        let mut piece = |from: usize, to: usize| {
            let done = requester.handle_result(now, id, from as u32, 2500, &whole[from..to]);
            (done, sent(&mut requester, now).into_iter().map(|(_, offset, _)| offset).collect())
        };
        assert_eq!(piece(0, 700), (None, vec![700, 1024, 2048]));
        // A piece that leaves a gap behind the part that is there is of no use.
        assert_eq!(piece(800, 1024), (None, vec![]));
        assert_eq!(piece(600, 1100), (None, vec![1100]));
        assert_eq!(piece(2048, 2500), (None, vec![]));
        let completed = Completed { id, result: whole.clone() };
        assert_eq!(piece(1024, 2048), (Some(completed), vec![]));
    }

    #[test]
    fn pieces_that_cannot_be_of_the_result_change_nothing() {
        let now = start();
        let mut requester = Requester::new(1);
        let id = requester.request(now, b"do".to_vec()).unwrap();
        assert_eq!(sent(&mut requester, now).len(), 1);
        assert_eq!(requester.handle_result(now, id, 0, 2000, &[1; 1024]), None);
        assert_eq!(sent(&mut requester, now), [(id, 1024, false)]);
        for (id, offset, total, chunk) in [
            (id, 1024, 1999, &[2; 975][..]),
            (id, 1024, 2000, &[2; 977]),
            (id, 1024, 2000, &[]),
            (id, u32::MAX, 2000, &[2; 1]),
            (id, 0, MAX_RESULT_LEN + 1, &[2; 1]),
            (id + 1, 0, 0, &[]),
        ] {
            assert_eq!(requester.handle_result(now, id, offset, total, chunk), None);
            assert_eq!(sent(&mut requester, now), []);
        }
        let completed = requester.handle_result(now, id, 1024, 2000, &[1; 976]);
        assert_eq!(completed, Some(Completed { id, result: vec![1; 2000] }));
    }

    #[test]
    fn what_comes_puts_off_giving_up() {
        let start = start();
        let mut requester = Requester::new(1);
        let id = requester.request(start, b"do".to_vec()).unwrap();
        let last = start + ms(29_999);
        assert_eq!(requester.handle_result(last, id, 0, 2000, &[1; 1024]), None);
        // A piece that is there already does not.
        assert_eq!(requester.handle_result(last + ms(1), id, 0, 2000, &[1; 1024]), None);
        assert_eq!(requester.poll_failure(last + GIVE_UP - ms(1)), None);
        let failure = requester.poll_failure(last + GIVE_UP);
        assert_eq!(failure, Some((id, Failure::Incomplete)));
    }

    #[test]
    fn requests_wait_for_one_that_is_eight_ids_older() {
        let now = start();
        let mut requester = Requester::new(u32::MAX - 3);
        for _ in 0..MAX_OUTSTANDING {
            requester.request(now, b"do".to_vec()).unwrap();
        }
        assert_eq!(requester.request(now, Vec::new()), Err(RequestError::TooMany));
        let ids = |requester: &mut Requester| {
            sent(requester, now).into_iter().map(|(id, ..)| id).collect::<Vec<_>>()
        };
        assert_eq!(
            ids(&mut requester),
            [u32::MAX - 3, u32::MAX - 2, u32::MAX - 1, u32::MAX, 0, 1, 2, 3]
        );
        // Neither one in the middle nor one that was not sent makes room.
        assert!(requester.handle_result(now, u32::MAX, 0, 0, &[]).is_some());
        assert!(requester.handle_result(now, 4, 0, 0, &[]).is_none());
        assert_eq!(ids(&mut requester), []);
        for id in [u32::MAX - 3, u32::MAX - 2, u32::MAX - 1] {
            assert!(requester.handle_result(now, id, 0, 0, &[]).is_some());
        }
        assert_eq!(ids(&mut requester), [4, 5, 6, 7]);
        assert_eq!(requester.request(now, vec![0; 1025]), Err(RequestError::TooLong));
    }
}
