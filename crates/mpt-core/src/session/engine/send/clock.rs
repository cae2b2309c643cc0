//! The clock by which frames are stamped.

use std::time::Instant;

use mpt_wire::control::Message;

/// The monotonic clock of this end, by which it stamps frames.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    id: u32,
    origin: Option<Instant>,
}

impl Clock {
    pub(crate) fn new(id: u32) -> Self {
        Self { id, origin: None }
    }

    /// Returns the stamp of a frame that is sent now.
    pub(crate) fn stamp(&mut self, now: Instant) -> Message<'static> {
        Message::Clock { id: self.id, time: self.micros(now) }
    }

    /// Microseconds since the first question, modulo 2^32.
    pub(crate) fn micros(&mut self, now: Instant) -> u32 {
        let origin = *self.origin.get_or_insert(now);
        (now.saturating_duration_since(origin).as_micros() & 0xffff_ffff) as u32
    }
}
