//! Consecutive segments of a frame that travel as one.

use std::time::{Duration, Instant};

use mpt_link::{Bitrate, ByteCount, Jitter, Params, Redraw};

use crate::emulator::pool::FrameId;

/// Longest time of a run on the wire, unless its first segment has waited longer for the transmitter. The first segments arrive late by as much,
/// which TCP on an idle link would take for a longer round-trip time; on a busy link the system call per run counts (docs/emulation.md has both
/// measured).
const SHORT_RUN: Duration = Duration::from_micros(100);
/// Number of segments that a run may always have: on slow links, too, TCP answers to runs, which decides what it sends next.
const SHORT_RUN_SEGMENTS: u16 = 8;
/// Longest time of a run of several segments on the wire: longer ones would be bursts that overflow later queues.
const LONGEST_RUN: Duration = Duration::from_millis(1);

/// Consecutive segments of a frame that arrive together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    /// Due time in nanoseconds since the start.
    pub(super) due: u64,
    /// Order of insertion: runs due at the same time arrive in this order.
    pub(super) order: u64,
    pub(super) frame: FrameId,
    pub(super) first: u16,
    pub(super) end: u16,
    /// Number of channels that it has passed.
    pub(super) hops: u8,
    /// True if a channel has marked it "congestion experienced".
    pub(super) marked: bool,
}

/// A run to which further segments may be added.
#[derive(Debug)]
pub(super) struct Growing {
    pub(super) first: u16,
    pub(super) end: u16,
    /// True if its segments are marked; those of a run are all marked or none of them is.
    pub(super) marked: bool,
    /// The time at which its first segment began to arrive.
    begun: Instant,
    /// The time at which its last segment has arrived.
    pub(super) at: Instant,
    /// The longest time that it may take.
    longest: Duration,
}

/// A segment that arrives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) index: u16,
    pub(super) size: ByteCount,
    /// The time at which it arrives.
    pub(super) at: Instant,
    pub(super) marked: bool,
}

impl Growing {
    /// Returns a run of one segment, which was sent at `sent`.
    pub(super) fn new(segment: Segment, sent: Instant, params: &Params) -> Self {
        let Segment { index, size, at, marked } = segment;
        let begun = at.checked_sub(serialization(size, params)).unwrap_or(at);
        // A jitter that holds for a while counts as a wait, too.
        let waited = begun.saturating_duration_since(sent).saturating_sub(params.delay);
        let longest = waited.clamp(SHORT_RUN, LONGEST_RUN);
        Self { first: index, end: index + 1, marked, begun, at, longest }
    }

    /// Adds a segment that may arrive as part of it; `false` where it may not.
    pub(super) fn takes(&mut self, segment: Segment, params: &Params) -> bool {
        let takes = segment.marked == self.marked && self.lasts_until(segment.at, params);
        if takes {
            (self.at, self.end) = (segment.at, segment.index + 1);
        }
        takes
    }

    fn lasts_until(&self, at: Instant, params: &Params) -> bool {
        if matches!(params.jitter, Some(Jitter { redraw: Redraw::EveryPacket, .. })) {
            // Its delay is its own.
            return at == self.at;
        }
        if !params.slot.is_zero() {
            // Packets that leave at the end of one slot do not wait for that of the next one.
            return at == self.at;
        }
        let few = self.end - self.first < SHORT_RUN_SEGMENTS;
        let longest = if few { LONGEST_RUN } else { self.longest };
        at >= self.at && at.saturating_duration_since(self.begun) <= longest
    }
}

/// Returns how long it takes on the wire.
fn serialization(size: ByteCount, params: &Params) -> Duration {
    let time =
        |rate: Bitrate| u128::from(size.0) * 8 * 1_000_000_000 / u128::from(rate.bits_per_second());
    let nanoseconds = params.rate.map_or(0, time);
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}
