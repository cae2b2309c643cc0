//! The state of the repairs of a connection.

use std::collections::VecDeque;

use super::refusals::Refusals;
use crate::sequence::Sequence;

/// A number that is being repaired.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub(super) number: Sequence,
    /// The path that lost it, and when it left there.
    pub(super) slot: u16,
    pub(super) left: i64,
    pub(super) tries: u8,
    pub(super) state: State,
}

/// What is known of a number that is being repaired.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// It is to be sent.
    Pending,
    /// It was sent again over a path.
    Sent { slot: u16, time: i64 },
    /// Repairs have taken all they may; not to be sent before.
    Refused { until: i64 },
    /// It will not be sent again.
    GivenUp,
}

/// The repairs of a connection.
#[derive(Debug, Default)]
pub(super) struct Repairs {
    pub(super) on: bool,
    /// The peer has told what it misses.
    pub(super) heard: bool,
    /// What leaves now is kept.
    pub(super) keeping: bool,
    /// In the order of their numbers.
    pub(super) lost: VecDeque<Lost>,
    /// Those of them that are to be sent.
    pub(super) pending: VecDeque<u32>,
    /// Bytes that may be sent again.
    pub(super) tokens: f64,
    /// Bytes sent up to which tokens were given.
    pub(super) credited: u64,
    /// When a path last showed that it loses packets.
    pub(super) loss_at: Option<i64>,
    /// When losses were last possible, and true until `repair::LINGERS` later.
    pub(super) possible_at: i64,
    pub(super) lingers: bool,
    /// Numbers that the peer asked for in vain: they are not kept, or were never sent.
    pub(super) unknown: u64,
    /// No path could take a repair before.
    pub(super) blocked_until: i64,
    /// Numbers that the peer missed last, and that were not held for lost; and when that was: which
    /// clock of the peer's, and its time.
    pub(super) watched: Vec<u32>,
    pub(super) watched_at: Option<(u32, i64)>,
    /// What the peer is to be told.
    pub(super) refusals: Refusals,
}

impl Repairs {
    pub(super) fn find(&mut self, number: Sequence) -> Result<&mut Lost, usize> {
        let place = self.lost.partition_point(|lost| lost.number.is_before(number));
        match self.lost.get(place).is_some_and(|lost| lost.number == number) {
            true => Ok(&mut self.lost[place]),
            false => Err(place),
        }
    }
}
