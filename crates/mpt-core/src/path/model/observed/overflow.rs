//! Whether a queue shorter than any delay shows overflows: packets are lost because too many are sent.

use std::collections::VecDeque;

use super::window::Recent;

/// Loss is looked at over this time, or a round-trip time, in microseconds.
const SPAN: f64 = 100_000.0;
/// Fewer packets in that time say nothing.
const FEWEST: u32 = 40;
/// How long the least loss counts, at least, in microseconds.
const MEMORY: i64 = 10_000_000;
/// Fewer losses may be chance.
const SOME: u32 = 8;
/// A loss of so many times the least, and so much, is no chance.
const TIMES: f64 = 2.0;
const MORE: f64 = 0.05;
/// A loss of so much more is no chance where others keep the queue full.
const LITTLE_MORE: f64 = 0.005;
/// Reports that are kept.
const MOST: usize = 64;

/// What the latest packets say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No more are lost than always.
    Usual,
    /// More are, but few.
    More,
    /// A queue overflows.
    Overflows,
}

/// The loss of the latest packets, compared with the least of late.
#[derive(Clone, Debug)]
pub(crate) struct Overflow {
    /// By report: time, packets sent up to one that has settled, and those of them that came.
    points: VecDeque<(i64, u32, u32)>,
    least: Recent,
    /// Packets before this one are known to suffer from what has been cut since.
    from: Option<u32>,
}

impl Overflow {
    pub(crate) fn new() -> Self {
        Self { points: VecDeque::new(), least: Recent::least(MEMORY), from: None }
    }

    /// Of the first `sent` packets of the path `received` have come (both modulo 2^32), and no more will.
    /// `rtt` is the round-trip time in microseconds.
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

    /// The rate is cut: packets up to the `sent`-th of the path were sent too fast.
    pub(crate) fn judge_from(&mut self, sent: u32) {
        self.points.clear();
        self.from = Some(sent);
    }

    /// The peer counts anew.
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
        assert_eq!(overflows(&lost)[0], 31);
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
