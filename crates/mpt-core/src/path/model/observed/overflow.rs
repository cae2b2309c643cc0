//! The detection of an overflowing queue that is too short for any delay to show it: packets are
//! lost because too many are sent.

use std::collections::VecDeque;

use super::window::Recent;

/// The shortest time over which loss is judged, in microseconds; it is a round-trip time where that
/// is longer.
const SPAN: f64 = 100_000.0;
/// The number of packets in that time below which there is no verdict.
const FEWEST: u32 = 40;
/// The shortest time for which the least loss counts, in microseconds.
const MEMORY: i64 = 10_000_000;
/// The number of losses below which they may be chance.
const SOME: u32 = 8;
/// The multiple of the least loss that, with [`MORE`] added, may be chance.
const TIMES: f64 = 2.0;
/// The share of packets that is added to [`TIMES`] the least loss.
const MORE: f64 = 0.03;
/// The additional loss that is not chance while other traffic keeps the queue full.
const LITTLE_MORE: f64 = 0.005;
/// The most reports that are kept.
const MOST: usize = 64;

/// The verdict about the latest packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No more packets are lost than usual.
    Usual,
    /// More packets are lost than usual, but few.
    More,
    /// A queue overflows.
    Overflows,
}

/// The loss of the latest packets, compared with the least recent loss.
#[derive(Clone, Debug)]
pub(crate) struct Overflow {
    /// By report, the time, the settled packets, and those of them that have arrived.
    points: VecDeque<(i64, u32, u32)>,
    least: Recent,
    /// The packet before which losses have already led to a cut.
    from: Option<u32>,
}

impl Overflow {
    pub(crate) fn new() -> Self {
        Self { points: VecDeque::new(), least: Recent::least(MEMORY), from: None }
    }

    /// Records that `received` of the first `sent` packets of the path have arrived, both modulo
    /// 2^32, and that no more of them will. `rtt` is the round-trip time in microseconds.
    pub(crate) fn record(&mut self, now: i64, sent: u32, received: u32, rtt: f64) -> Verdict {
        if self.from.is_some_and(|from| sent.wrapping_sub(from).cast_signed() < 0) {
            return Verdict::Usual;
        }
        self.from = None;
        if self.points.back().is_some_and(|&(_, last, _)| last == sent) {
            return Verdict::Usual;
        }
        if self.points.len() == MOST {
            self.points.pop_front();
        }
        self.points.push_back((now, sent, received));
        let span = SPAN.max(rtt) as i64;
        while self.points.len() > 2 && now - self.points[1].0 >= span {
            self.points.pop_front();
        }
        let (_, first_sent, first_received) = self.points[0];
        let packets = sent.wrapping_sub(first_sent);
        if packets < FEWEST {
            return Verdict::Usual;
        }
        let lost = packets.saturating_sub(received.wrapping_sub(first_received));
        let share = f64::from(lost) / f64::from(packets);
        let least = self.least.value().unwrap_or(0.0);
        self.least.record(now, share);
        match share - TIMES * least {
            more if more > MORE && lost >= SOME => Verdict::Overflows,
            more if more > LITTLE_MORE => Verdict::More,
            _ => Verdict::Usual,
        }
    }

    /// Notes that the rate was cut, so that packets up to the `sent`-th of the path were sent too
    /// fast.
    pub(crate) fn judge_from(&mut self, sent: u32) {
        self.points.clear();
        self.from = Some(sent);
    }

    /// Starts again after the peer's counters have begun anew.
    pub(crate) fn restart(&mut self) {
        (self.points, self.from) = (VecDeque::new(), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports every 20 ms of 40 packets, of which so many are lost: in which of them a queue overflows.
    fn overflows(lost: &[u32]) -> Vec<usize> {
        let mut overflow = Overflow::new();
        let (mut sent, mut received) = (u32::MAX - 100, 5);
        let mut found = Vec::new();
        for (report, lost) in lost.iter().enumerate() {
            sent = sent.wrapping_add(40);
            received += 40 - lost;
            let verdict = overflow.record(report as i64 * 20_000, sent, received, 40_000.0);
            if verdict == Verdict::Overflows {
                found.push(report);
            }
        }
        found
    }

    #[test]
    fn loss_that_is_always_there_is_none() {
        assert_eq!(overflows(&[2; 40]), []);
        assert_eq!(overflows(&[0; 40]), []);
    }

    #[test]
    fn loss_that_is_new_is() {
        let mut lost = [0; 40];
        lost[30..35].fill(8);
        assert_eq!(overflows(&lost)[0], 30);
    }

    #[test]
    fn what_was_sent_before_the_cut_counts_once() {
        let mut overflow = Overflow::new();
        let mut record =
            |millis: i64, sent, received| overflow.record(millis * 1_000, sent, received, 40_000.0);
        record(0, 100, 100);
        assert_eq!(record(20, 200, 180), Verdict::Overflows);
        overflow.judge_from(300);
        let mut record =
            |millis: i64, sent, received| overflow.record(millis * 1_000, sent, received, 40_000.0);
        assert_eq!(record(40, 250, 210), Verdict::Usual);
        assert_eq!(record(60, 300, 240), Verdict::Usual);
        assert_eq!(record(80, 400, 340), Verdict::Usual);
        assert_eq!(record(100, 500, 438), Verdict::More);
    }
}
