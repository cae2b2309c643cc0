//! The clock by which frames are stamped.

use std::time::Instant;

use mpt_wire::control::Message;

/// The monotonic clock of this end, by which it stamps frames.
#[derive(Debug, Default)]
pub(in crate::session::engine) struct Clock {
    id: u32,
    origin: Option<Instant>,
}

impl Clock {
    pub(in crate::session::engine) fn new(id: u32) -> Self {
        Self { id, origin: None }
    }

    /// Returns the stamp of a frame that is sent now.
    pub(in crate::session::engine) fn stamp(&mut self, now: Instant) -> Message<'static> {
        Message::Clock { id: self.id, time: self.micros(now) }
    }

    /// Microseconds since the first question, modulo 2^32.
    pub(in crate::session::engine) fn micros(&mut self, now: Instant) -> u32 {
        let origin = *self.origin.get_or_insert(now);
        (now.saturating_duration_since(origin).as_micros() & 0xffff_ffff) as u32
    }
}
