//! The queue before the transmitter: drop-tail, or one that serves flows in turns.

mod codel;
pub(super) mod fq_codel;

use std::collections::VecDeque;
use std::time::Duration;

use crate::ByteCount;

/// The most that may wait for the transmitter, the packet in transmission not counted. A packet that finds the transmitter
/// free is always taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum QueueLimit {
    /// Everything.
    #[default]
    Unlimited,
    /// At most this many packets.
    Packets(usize),
    /// At most this much.
    Bytes(ByteCount),
    /// Packets that have to wait for at most this long (`tbf`'s `latency`).
    Time(Duration),
}

/// The packets that wait, by when their transmission begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    /// Nanoseconds and size.
    waiting: VecDeque<(u64, u64)>,
    bytes: u64,
}

impl Queue {
    /// Takes or refuses a packet that comes at `now` and would be transmitted from `start` on.
    pub(crate) fn admit(&mut self, limit: QueueLimit, now: u64, start: u64, size: u64) -> bool {
        self.release(now);
        if start <= now {
            return true;
        }
        let room = match limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => self.waiting.len() < limit,
            QueueLimit::Bytes(limit) => self.bytes.saturating_add(size) <= limit.0,
            QueueLimit::Time(limit) => u128::from(start - now) <= limit.as_nanos(),
        };
        if room {
            self.waiting.push_back((start, size));
            self.bytes = self.bytes.saturating_add(size);
        }
        room
    }

    /// Packets and bytes that wait at `now`.
    pub(crate) fn waiting(&mut self, now: u64) -> (usize, u64) {
        self.release(now);
        (self.waiting.len(), self.bytes)
    }

    fn release(&mut self, now: u64) {
        while let Some(&(start, size)) = self.waiting.front()
            && start <= now
        {
            self.bytes = self.bytes.saturating_sub(size);
            self.waiting.pop_front();
        }
    }
}
