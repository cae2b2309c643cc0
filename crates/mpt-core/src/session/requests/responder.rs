//! The responding side: runs each request once and remembers what the last ones came to.

use std::time::Instant;

use mpt_wire::control::Message;
use mpt_wire::control::message::{MAX_CHUNK_LEN, MAX_RESULT_LEN};

use super::{RESULTS, SPAN};

/// The most bytes of results that the responder keeps: twice the longest result, so that one is not
/// dropped as soon as the next is there.
pub const MAX_KEPT: usize = 2 * MAX_RESULT_LEN as usize;
/// Ids that are further apart than this belong to different series: the requester has lost its
/// memory, and counts from another random number. More requests than anybody makes while the keys
/// of a frame that was held back are valid, and few enough that no random number comes near.
const SERIES: u32 = 1 << 14;

/// A result is longer than 1 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the result is longer than {MAX_RESULT_LEN} bytes")]
pub struct TooLong;

/// The decision about a request that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// Run it, and give its result to [`Responder::finish`].
    Run,
    /// Send this [`Message::Result`].
    Send(Message<'a>),
    /// The request is ignored, since [`RESULTS`] requests are unfinished. The requester repeats it.
    Refuse,
    /// The request is ignored, since it is being worked on or too old.
    Ignore,
}

/// The responding side of a session.
#[derive(Clone, Debug, Default)]
pub struct Responder {
    /// The newest id that was run.
    newest: Option<u32>,
    /// The newest of the series before, so that what is late of it is not run again.
    former: Option<u32>,
    /// Every request that was run and whose id is less than [`RESULTS`] below the newest, and those
    /// that are older and unfinished: at most twice [`RESULTS`] in all.
    slots: Vec<Slot>,
}

#[derive(Clone, Debug)]
struct Slot {
    id: u32,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Running,
    Finished {
        result: Vec<u8>,
        asked: Instant,
    },
    /// The result had to make room.
    Dropped,
}

impl State {
    fn len(&self) -> usize {
        match self {
            State::Finished { result, .. } => result.len(),
            State::Running | State::Dropped => 0,
        }
    }
}

impl Responder {
    /// A responder that has not run anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Handles a [`Message::Request`]. Its body matters only if it is to be run.
    pub fn handle_request(&mut self, now: Instant, id: u32, offset: u32) -> Action<'_> {
        // By index, since a borrow that is returned on one way only would last for all others.
        if let Some(at) = self.slots.iter().position(|slot| slot.id == id) {
            let Some(slot) = self.slots.get_mut(at) else { return Action::Ignore };
            if let State::Finished { asked, .. } = &mut slot.state {
                *asked = now;
            }
            return slot.piece(offset).map_or(Action::Ignore, Action::Send);
        }
        if !self.is_new(id, offset) {
            return Action::Ignore;
        }
        if self.unfinished() >= RESULTS {
            return Action::Refuse;
        }
        self.begin(id);
        Action::Run
    }

    /// The first part of the result of a request that is finished.
    pub fn first_part(&self, id: u32) -> Option<Message<'_>> {
        self.slots.iter().find(|slot| slot.id == id)?.piece(0)
    }

    /// Returns true if a request is one that was not run, and would be: for its caller to refuse it
    /// before it is handled.
    pub fn is_new(&self, id: u32, offset: u32) -> bool {
        let known = self.slots.iter().any(|slot| slot.id == id);
        offset == 0 && !known && !self.is_old(id)
    }

    /// The number of requests that were run and not finished, whatever their ids: at most
    /// [`RESULTS`].
    pub fn unfinished(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_running()).count()
    }

    /// The result of a request that was [run](Action::Run): its first piece, to be sent at once.
    /// The requester asks for the rest, and for this, too, if it is lost.
    ///
    /// There is nothing to send if the request has become too old meanwhile, or was finished
    /// already: the first result stays.
    ///
    /// # Errors
    ///
    /// [`TooLong`]: the request waits for another result.
    pub fn finish(
        &mut self,
        now: Instant,
        id: u32,
        result: Vec<u8>,
    ) -> Result<Option<Message<'_>>, TooLong> {
        if result.len() > MAX_RESULT_LEN as usize {
            return Err(TooLong);
        }
        let Some(at) = self.slots.iter().position(|slot| slot.id == id) else { return Ok(None) };
        if !self.slots.get(at).is_some_and(Slot::is_running) {
            return Ok(None);
        }
        if !self.newest.is_some_and(|newest| is_recent(newest, id)) {
            self.slots.remove(at);
            return Ok(None);
        }
        self.make_room(result.len());
        let Some(slot) = self.slots.get_mut(at) else { return Ok(None) };
        slot.state = State::Finished { result, asked: now };
        Ok(slot.piece(0))
    }

    /// Returns true if a request that is not in a slot was run long ago, or belongs to the series
    /// before.
    fn is_old(&self, id: u32) -> bool {
        match self.newest {
            Some(newest) if is_near(newest, id) => {
                id.wrapping_sub(newest).cast_signed() <= -SPAN.cast_signed()
            }
            _ => self.former.is_some_and(|former| is_near(former, id)),
        }
    }

    /// Makes room for a request that is new.
    fn begin(&mut self, id: u32) {
        match self.newest {
            Some(newest) if is_near(newest, id) => {
                if id.wrapping_sub(newest).cast_signed() > 0 {
                    self.newest = Some(id);
                    self.slots.retain(|slot| slot.is_running() || is_recent(id, slot.id));
                }
            }
            newest => {
                self.former = newest;
                self.newest = Some(id);
                self.slots.retain(Slot::is_running);
            }
        }
        self.slots.push(Slot { id, state: State::Running });
    }

    /// Drops results until `len` more bytes may be kept: first that which was not asked for for
    /// the longest time, most likely because all of it has arrived.
    fn make_room(&mut self, len: usize) {
        while self.slots.iter().map(|slot| slot.state.len()).sum::<usize>() + len > MAX_KEPT {
            let longest_ago = self
                .slots
                .iter_mut()
                .filter_map(|slot| match slot.state {
                    State::Finished { asked, .. } => Some((asked, slot)),
                    State::Running | State::Dropped => None,
                })
                .min_by_key(|(asked, _)| *asked);
            let Some((_, slot)) = longest_ago else { return };
            slot.state = State::Dropped;
        }
    }
}

/// Returns true if an id belongs to the series of the newest one.
fn is_near(newest: u32, id: u32) -> bool {
    id.wrapping_sub(newest).cast_signed().unsigned_abs() <= SERIES
}

/// Returns true if the result of an id is kept: it is less than [`RESULTS`] below the newest.
fn is_recent(newest: u32, id: u32) -> bool {
    newest.wrapping_sub(id) < SPAN
}

impl Slot {
    fn is_running(&self) -> bool {
        matches!(self.state, State::Running)
    }

    /// A piece of the result, if there is one at that offset.
    fn piece(&self, offset: u32) -> Option<Message<'_>> {
        let State::Finished { result, .. } = &self.state else { return None };
        let rest = result.get(offset as usize..)?;
        if rest.is_empty() && offset > 0 {
            return None;
        }
        let chunk = rest.get(..rest.len().min(MAX_CHUNK_LEN))?;
        let total = u32::try_from(result.len()).ok()?;
        Some(Message::Result { id: self.id, offset, total, chunk })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::requests::testing::{ms, start};

    #[test]
    fn the_last_eight_ids_are_remembered() {
        let now = start();
        let mut responder = Responder::new();
        // In any order.
        for id in [3, 2, 9, 10] {
            assert_eq!(responder.handle_request(now, id, 0), Action::Run);
            assert!(responder.finish(now, id, vec![id as u8]).unwrap().is_some());
        }
        let first = Message::Result { id: 3, offset: 0, total: 1, chunk: &[3] };
        assert_eq!(responder.handle_request(now, 3, 0), Action::Send(first));
        assert_eq!(responder.handle_request(now, 2, 0), Action::Ignore);
        assert_eq!(responder.handle_request(now, 4, 0), Action::Run);
        // Too old when it is done.
        assert_eq!(responder.handle_request(now, 12, 0), Action::Run);
        assert_eq!(responder.finish(now, 4, vec![4]), Ok(None));
        assert_eq!(responder.handle_request(now, 4, 0), Action::Ignore);
    }

    #[test]
    fn a_piece_is_never_the_beginning() {
        let now = start();
        let mut responder = Responder::new();
        assert_eq!(responder.handle_request(now, 1, 1024), Action::Ignore);
        assert_eq!(responder.handle_request(now, 1, 0), Action::Run);
        assert_eq!(responder.finish(now, 1, vec![1; 1025]).map(|first| first.is_some()), Ok(true));
        let last = Message::Result { id: 1, offset: 1024, total: 1025, chunk: &[1] };
        assert_eq!(responder.handle_request(now, 1, 1024), Action::Send(last));
        assert_eq!(responder.handle_request(now, 1, 1025), Action::Ignore);
        assert_eq!(responder.handle_request(now, 1, u32::MAX), Action::Ignore);
    }

    #[test]
    fn the_first_result_stays_and_is_not_too_long() {
        let now = start();
        let mut responder = Responder::new();
        assert_eq!(responder.finish(now, 1, Vec::new()), Ok(None));
        assert_eq!(responder.handle_request(now, 1, 0), Action::Run);
        let too_long = vec![0; MAX_RESULT_LEN as usize + 1];
        assert_eq!(responder.finish(now, 1, too_long), Err(TooLong));
        assert!(responder.finish(now, 1, vec![1]).unwrap().is_some());
        assert_eq!(responder.finish(now, 1, vec![2]), Ok(None));
        let first = Message::Result { id: 1, offset: 0, total: 1, chunk: &[1] };
        assert_eq!(responder.handle_request(now, 1, 0), Action::Send(first));
    }

    #[test]
    fn the_result_that_nobody_asked_for_longest_makes_room() {
        let start = start();
        let mut responder = Responder::new();
        let longest = vec![0; MAX_RESULT_LEN as usize];
        for id in 1..=2 {
            assert_eq!(responder.handle_request(start, id, 0), Action::Run);
            assert!(responder.finish(start, id, longest.clone()).unwrap().is_some());
        }
        assert!(matches!(responder.handle_request(start + ms(1), 1, 1024), Action::Send(_)));
        assert_eq!(responder.handle_request(start + ms(2), 3, 0), Action::Run);
        assert!(responder.finish(start + ms(2), 3, vec![3]).unwrap().is_some());
        assert!(matches!(responder.handle_request(start + ms(3), 1, 0), Action::Send(_)));
        assert_eq!(responder.handle_request(start + ms(3), 2, 0), Action::Ignore);
        assert!(matches!(responder.handle_request(start + ms(3), 3, 0), Action::Send(_)));
    }

    #[test]
    fn a_requester_without_memory_is_served_and_its_former_life_is_not() {
        let now = start();
        let mut responder = Responder::new();
        assert_eq!(responder.handle_request(now, 5_000_000, 0), Action::Run);
        assert_eq!(responder.handle_request(now, 40_000, 0), Action::Run);
        assert_eq!(responder.finish(now, 5_000_000, Vec::new()), Ok(None));
        for late in [5_000_000, 4_999_990, 5_000_001, 39_992] {
            assert_eq!(responder.handle_request(now, late, 0), Action::Ignore);
        }
        assert_eq!(responder.handle_request(now, 40_001, 0), Action::Run);
    }
}
