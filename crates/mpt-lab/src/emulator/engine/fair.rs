//! Channels whose queue serves flows in turns (FQ-CoDel, RFC 8290). The fate of a segment is decided when it leaves the queue, so each of them
//! travels alone.

use std::time::Instant;

use mpt_link::{ByteCount, Capable, Change, Counters, FairLink, FqCodelConfig, Params};

use crate::emulator::pool::{FrameId, Pool};

/// A segment on its way through such a channel.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    frame: FrameId,
    index: u16,
    /// Number of channels that it has passed, this one included.
    hops: u8,
    /// True if a channel before has marked it.
    marked: bool,
}

/// A segment that has passed it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    pub(super) frame: FrameId,
    pub(super) index: u16,
    /// Number of channels that it has passed.
    pub(super) hops: u8,
    /// True if it is marked "congestion experienced".
    pub(super) marked: bool,
    /// The time at which it arrived.
    pub(super) at: Instant,
}

/// A channel with such a queue. The frames in it are retained once for each of their segments.
#[derive(Debug)]
pub(super) struct Fair(FairLink<Waiting>);

impl Fair {
    pub(super) fn new(now: Instant, params: Params, seed: u64) -> Self {
        Self(FairLink::new(now, params, FqCodelConfig::default(), [], seed))
    }

    /// Sends a segment of `size` at `now`, after `hops` channels with this one.
    pub(super) fn send(
        &mut self,
        now: Instant,
        size: ByteCount,
        (frame, index): (FrameId, u16),
        (hops, marked): (u8, bool),
        pool: &mut Pool,
    ) {
        let (flow, capable) = (pool.get(frame).shape.flow(), capable(pool, frame));
        pool.retain(frame);
        self.0.enqueue(now, flow, size, capable, Waiting { frame, index, hops, marked });
        self.release_dropped(pool);
    }

    /// Returns the next segment that has arrived by `now`. Its frame is to be released.
    pub(super) fn poll(&mut self, now: Instant, pool: &mut Pool) -> Option<Passed> {
        let arrived = self.0.poll_stamped(now);
        self.release_dropped(pool);
        let (at, arrival) = arrived?;
        let Waiting { frame, index, hops, marked } = arrival.packet;
        Some(Passed { frame, index, hops, marked: marked || arrival.marked, at })
    }

    /// Returns the time at which [`Self::poll`] is to be called next.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.0.next_timeout()
    }

    pub(super) fn change(&mut self, at: Instant, change: Change) {
        self.0.change(at, change);
    }

    pub(super) fn counters(&self) -> Counters {
        self.0.counters()
    }

    fn release_dropped(&mut self, pool: &mut Pool) {
        self.0.take_dropped().for_each(|segment| pool.release(segment.frame));
    }
}

/// Returns whether a frame can be marked.
pub(super) fn capable(pool: &Pool, frame: FrameId) -> Capable {
    if pool.get(frame).shape.understands_ecn() { Capable::Yes } else { Capable::No }
}
