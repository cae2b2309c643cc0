//! Frames on their way out, and the memory they are written in.

use std::collections::VecDeque;

use crate::session::engine::{Destination, SessionCounters, Transmit};

/// Frames that may wait to be sent: the burst of a thousand sessions of two paths that wake at once.
/// More are dropped; whatever is needed is repeated.
const MAX_WAITING: usize = 8192;
/// Room of a buffer: for every frame but those that test whether a path carries jumbo packets.
const ROOM: usize = 1536;
/// Buffers kept for the next frames.
const MAX_KEPT: usize = 256;

/// Frames on their way out.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: VecDeque<Transmit>,
    kept: Vec<Vec<u8>>,
}

impl Outbox {
    /// Queues the frame that `write` makes in an empty buffer. False if there is none, because the
    /// queue is full or `write` refuses.
    pub(crate) fn send(
        &mut self,
        counters: &mut SessionCounters,
        destination: Destination,
        key: Option<u32>,
        write: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> bool {
        let mut frame = self.kept.pop().unwrap_or_else(|| Vec::with_capacity(ROOM));
        frame.clear();
        if self.waiting.len() >= MAX_WAITING || !write(&mut frame) {
            counters.not_sent += 1;
            self.recycle(frame);
            return false;
        }
        counters.frames_sent += 1;
        self.waiting.push_back(Transmit { destination, key, frame });
        true
    }

    /// The next one.
    pub(crate) fn pop(&mut self) -> Option<Transmit> {
        self.waiting.pop_front()
    }

    /// Takes back a buffer.
    pub(crate) fn recycle(&mut self, frame: Vec<u8>) {
        if self.kept.len() < MAX_KEPT && (1..=ROOM).contains(&frame.capacity()) {
            self.kept.push(frame);
        }
    }
}
