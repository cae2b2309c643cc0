//! The share of packets that a path loses at random.

use std::collections::VecDeque;

/// The number of the latest packets over which loss is counted; somewhat more may count.
const COUNTED: u32 = 2_000;
/// The longest time over which it is counted, in microseconds.
const MEMORY: i64 = 20_000_000;
/// Time for which a queue that is found to stand may have overflowed before, in microseconds.
const OVERFLOWED: i64 = 300_000;

/// The counters at some time.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    at: i64,
    sent: u32,
    lost: u32,
}

/// The loss of a path. Counters wrap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    /// The counters by report, the oldest first.
    points: VecDeque<Point>,
    /// The counters of the last report: packets of the path that are settled, and those of them
    /// that have arrived.
    last: Option<(u32, u32)>,
    /// The packet of the path before which a queue has overflowed, or may have.
    overflowed: Option<u32>,
}

impl Losses {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Records that `received` of the first `sent` packets of the path have arrived, both modulo
    /// 2^32, and that no more of them will.
    pub(crate) fn record(&mut self, now: i64, sent: u32, received: u32) {
        let Some((last_sent, last_received)) = self.last.replace((sent, received)) else {
            return self.points.push_back(Point { at: now, sent: 0, lost: 0 });
        };
        let packets = sent.wrapping_sub(last_sent);
        if packets == 0 {
            return;
        }
        let lost = packets.saturating_sub(received.wrapping_sub(last_received));
        let is_before = |until: &u32| last_sent.wrapping_sub(*until).cast_signed() < 0;
        self.overflowed = self.overflowed.filter(is_before);
        if self.overflowed.is_some() && lost > 0 {
            return;
        }
        let before = self.points.back().copied().unwrap_or_default();
        let sent = before.sent.wrapping_add(packets);
        self.points.push_back(Point { at: now, sent, lost: before.lost.wrapping_add(lost) });
        while self.points.len() > 2
            && (sent.wrapping_sub(self.points[1].sent) >= COUNTED
                || now - self.points[0].at > MEMORY)
        {
            self.points.pop_front();
        }
        while self.points.len() > 1_024 {
            // Every second one is enough.
            let mut keep = false;
            self.points.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    fn total(&self) -> (u32, u32) {
        let (Some(first), Some(last)) = (self.points.front(), self.points.back()) else {
            return (0, 0);
        };
        (last.sent.wrapping_sub(first.sent), last.lost.wrapping_sub(first.lost))
    }

    /// Returns the number of packets over which loss was counted.
    pub(crate) fn counted(&self) -> u32 {
        self.total().0
    }

    /// Returns the share of packets that was lost.
    pub(crate) fn share(&self) -> f64 {
        let (sent, lost) = self.total();
        if sent == 0 { 0.0 } else { f64::from(lost) / f64::from(sent) }
    }

    /// Notes that a queue has overflowed, or may have. Packets lost recently, and up to the
    /// `sent`-th packet of the path, do not count as random losses. If nothing was lost, no queue
    /// has overflowed.
    pub(crate) fn judge_from(&mut self, sent: u32) {
        self.overflowed = Some(sent);
        let Some(&last) = self.points.back() else { return };
        let doubtful = |it: &Point| last.at - it.at < OVERFLOWED;
        let sure = self.points.iter().rposition(|it| !doubtful(it));
        let lost_before = sure.map_or(self.points[0].lost, |place| self.points[place].lost);
        if last.lost != lost_before {
            self.points.truncate(sure.map_or(1, |place| place + 1));
        }
    }

    /// Counts from here on.
    pub(crate) fn restart(&mut self) {
        *self = Self::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports every 20 ms of 40 packets each, of which so many are lost.
    fn count(losses: &mut Losses, from: u32, lost: &[u32]) -> u32 {
        let (_, mut received) = losses.last.unwrap_or((0, 0));
        for (report, lost) in (from..).zip(lost) {
            received += 40 - lost;
            losses.record(i64::from(report) * 20_000, 40 * report, received);
        }
        from + lost.len() as u32
    }

    #[test]
    fn chance_is_counted() {
        let mut losses = Losses::new();
        count(&mut losses, 0, &[1; 30]);
        assert_eq!((losses.counted(), losses.share()), (29 * 40, 1.0 / 40.0));
    }

    #[test]
    fn what_a_queue_has_lost_is_not() {
        let mut losses = Losses::new();
        let next = count(&mut losses, 0, &[0; 30]);
        let next = count(&mut losses, next, &[5, 9]);
        losses.judge_from(40 * (next + 3));
        let next = count(&mut losses, next, &[9, 9, 2, 0]);
        assert_eq!(losses.share(), 0.0);
        count(&mut losses, next, &[1; 30]);
        assert!(losses.counted() > 40 * 40, "{}", losses.counted());
        assert!((0.01..0.02).contains(&losses.share()), "{}", losses.share());
    }

    #[test]
    fn a_queue_that_has_not_overflowed_is_no_gap() {
        let mut losses = Losses::new();
        let mut next = count(&mut losses, 0, &[0; 2]);
        for _ in 0..20 {
            losses.judge_from(40 * (next + 1));
            next = count(&mut losses, next, &[0; 3]);
        }
        assert_eq!(losses.share(), 0.0);
        assert!(losses.counted() > 1_000, "{}", losses.counted());
    }
}
