//! The state of the repairs of a connection.

use std::collections::VecDeque;

use super::refusals::Refusals;
use crate::sequence::Sequence;

/// Bytes of the budget that are kept for later repairs.
const KEPT: f64 = 524_288.0;

/// A number that is being repaired.
#[derive(Clone, Copy, Debug)]
pub(in crate::adaptive) struct Lost {
    pub(in crate::adaptive) number: Sequence,
    /// The slot of the path that lost the number, unless that path was removed since.
    pub(in crate::adaptive) slot: Option<u16>,
    /// The time at which the number left there.
    pub(in crate::adaptive) left: i64,
    /// True if the path had delivered a packet that left later when the number was judged.
    pub(in crate::adaptive) passed: bool,
    pub(in crate::adaptive) tries: u8,
    pub(in crate::adaptive) state: State,
}

/// A number that is missing and was not judged to be lost.
#[derive(Clone, Copy, Debug)]
pub(in crate::adaptive) struct Watched {
    pub(in crate::adaptive) number: u32,
    /// True if its path has delivered a packet that left later.
    pub(in crate::adaptive) passed: bool,
}

/// The state of a number that is being repaired.
#[derive(Clone, Copy, Debug)]
pub(in crate::adaptive) enum State {
    /// The repair waits to be sent.
    Pending,
    /// The number was sent again over the path in a slot, unless that path was removed since.
    Sent { slot: Option<u16>, time: i64 },
    /// Repairs have used their whole share of the bytes. The repair is not sent before this time.
    Refused { until: i64 },
    /// The number will not be sent again.
    GivenUp,
}

/// The repairs of a connection.
#[derive(Debug, Default)]
pub(in crate::adaptive) struct Repairs {
    pub(in crate::adaptive) on: bool,
    /// True once the peer has reported what is missing.
    pub(in crate::adaptive) heard: bool,
    /// True while packets that leave are kept.
    pub(in crate::adaptive) keeping: bool,
    /// The numbers that are being repaired, in their order.
    pub(in crate::adaptive) lost: VecDeque<Lost>,
    /// The repairs that wait to be sent.
    pub(in crate::adaptive) pending: VecDeque<u32>,
    /// Bytes that repairs may use now.
    pub(in crate::adaptive) tokens: f64,
    /// The count of bytes sent up to which repairs have got their share.
    pub(in crate::adaptive) credited: u64,
    /// The time at which a path last showed that it loses packets.
    pub(in crate::adaptive) loss_at: Option<i64>,
    /// The time at which losses were last possible. They count as possible until `repair::LINGERS`
    /// later.
    pub(in crate::adaptive) possible_at: i64,
    pub(in crate::adaptive) lingers: bool,
    /// Numbers that the peer asked for in vain, since they are not kept or were never sent.
    pub(in crate::adaptive) unknown: u64,
    /// The time before which no path can carry a repair.
    pub(in crate::adaptive) blocked_until: i64,
    /// Numbers that the last report named as missing and that were not judged to be lost, with the
    /// life of the peer's clock and the time of that report.
    pub(in crate::adaptive) watched: Vec<Watched>,
    pub(in crate::adaptive) watched_at: Option<(u32, i64)>,
    /// The refusals that the peer is to be told.
    pub(in crate::adaptive) refusals: Refusals,
}

impl Repairs {
    /// Returns the bytes that the repairs that wait take, if each has this size.
    pub(in crate::adaptive) fn waiting(&self, each: f64) -> f64 {
        self.pending.len() as f64 * each
    }

    /// Adds bytes that repairs may use, as long as no more than [`KEPT`] remain beside what those
    /// that wait take, `each` of them: a queue of a gigabit link that overflows loses more than
    /// that at once.
    pub(in crate::adaptive) fn grant(&mut self, bytes: f64, each: f64) {
        let most = (KEPT + self.waiting(each)).max(self.tokens);
        self.tokens = (self.tokens + bytes).min(most);
    }

    pub(in crate::adaptive) fn find(&mut self, number: Sequence) -> Result<&mut Lost, usize> {
        let place = self.lost.partition_point(|lost| lost.number.is_before(number));
        match self.lost.get(place).is_some_and(|lost| lost.number == number) {
            true => Ok(&mut self.lost[place]),
            false => Err(place),
        }
    }

    /// Notes that a path was removed, whose slot another one may get.
    pub(in crate::adaptive) fn forget_path(&mut self, removed: u16) {
        for lost in &mut self.lost {
            lost.slot.take_if(|slot| *slot == removed);
            if let State::Sent { slot, .. } = &mut lost.state {
                slot.take_if(|slot| *slot == removed);
            }
        }
    }
}
