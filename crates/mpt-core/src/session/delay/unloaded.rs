//! The variation of a path's delay while the path carries no data.
//!
//! A flow fills the queue of a path within a tenth of a second, and the probes behind its packets then differ as much as on a path that jitters.
//! A receiver that takes the one for the other holds packets that could be delivered at once, and the round-trip time of the flow is suddenly a
//! hundred times what it was.

use std::time::{Duration, Instant};

use super::OneWay;

/// The number of data packets between two frames up to which the path counts as empty.
const FEW: u64 = 4;
/// The time that the queue of a path has to drain after it carried data.
const DRAINED: Duration = Duration::from_secs(1);

/// The least time between two frames that show whether a delay wanders. It hardly changes from one
/// frame of a survey to the next, and would seem to be constant.
const APART: Duration = Duration::from_millis(100);

/// The one-way delays of the frames that no data has preceded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unloaded {
    delays: OneWay,
    /// The delays of frames that are at least [`APART`] from each other.
    apart: OneWay,
    /// The data packets that had come on the path before the latest frame.
    packets: u64,
    /// The time from which on the path counts as empty.
    empty_from: Option<Instant>,
    /// The time of the latest frame in `apart`.
    apart_at: Option<Instant>,
}

impl Unloaded {
    /// A measurement without any frame.
    pub(crate) const fn new() -> Self {
        let (delays, apart) = (OneWay::new(), OneWay::new());
        Self { delays, apart, packets: 0, empty_from: None, apart_at: None }
    }

    /// A frame sent at `sent` by the clock of the other end came at `received` by ours, both in microseconds modulo 2^32. `packets` data packets have
    /// come on the path before it.
    pub(crate) fn record(&mut self, now: Instant, sent: u32, received: u32, packets: u64) {
        let since = packets.saturating_sub(self.packets);
        self.packets = packets;
        if since > FEW {
            self.empty_from = Some(now + DRAINED);
        }
        if self.empty_from.is_some_and(|at| now < at) {
            return;
        }
        self.delays.record(now, sent, received);
        if self.apart_at.is_none_or(|at| now >= at + APART) {
            self.apart.record(now, sent, received);
            self.apart_at = Some(now);
        }
    }

    /// Returns the spread of the delays, as [`OneWay::spread`] does, whether they jitter or wander.
    pub(crate) fn spread(&self) -> Duration {
        self.delays.spread().max(self.apart.spread())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use super::*;

    /// The spread after frames at these times in milliseconds, with these delays in microseconds, after so many data packets.
    fn spread(frames: impl IntoIterator<Item = (u64, u32, u64)>) -> Duration {
        let origin = Instant::now();
        let mut path = Unloaded::new();
        for (millis, delay, packets) in frames {
            path.record(origin + Duration::from_millis(millis), 0, delay, packets);
        }
        path.spread()
    }

    #[test]
    fn the_queue_of_a_flow_is_no_jitter() {
        let before = (0..64).map(|n| (4 * n, 5_000, 0));
        let flow = (0..64).map(|n| (300 + 20 * n, 5_000 + 1_500 * n as u32, 20 * (n + 1)));
        assert_eq!(spread(before.chain(flow)), Duration::ZERO);
    }

    #[test]
    fn what_is_left_in_the_queue_when_the_flow_ends_is_no_jitter_either() {
        let flow = (0..4).map(|n| (20 * n, 5_000 + 20_000 * n as u32, 100 * n));
        let rest = (0..64)
            .map(|n| (80 + 10 * n, 80_000_u32.saturating_sub(10_000 * n as u32).max(5_000), 300));
        assert_eq!(spread(flow.chain(rest)), Duration::ZERO);
    }

    #[test]
    fn a_few_packets_hide_no_jitter() {
        let jitter = |n: u64| (200 * n, 5_000 + 20_000 * (n % 2) as u32, 4 * n);
        assert_eq!(spread((0..64).map(jitter)), Duration::from_millis(20));
    }

    /// Frames come every 5 ms, as in a survey, and the delay is another one every 100 ms.
    #[test]
    fn a_delay_that_wanders_is_found_by_frames_that_follow_each_other_quickly() {
        let wanders = |n: u64| (5 * n, 5_000 + 20_000 * (n / 20 % 2) as u32, 0);
        // Few of them count, so that more may be expected.
        let found = spread((0..340).map(wanders)).as_millis();
        assert!((20..=30).contains(&found), "{found} ms");
    }

    #[test]
    fn jitter_that_begins_between_two_flows_is_found() {
        let flow = (0..64).map(|n| (20 * n, 5_000, 20 * n));
        let pause = (0..64).map(|n| (10_000 + 200 * n, 5_000 + 20_000 * (n % 2) as u32, 1_260));
        assert_eq!(spread(flow.chain(pause)), Duration::from_millis(20));
    }
}
