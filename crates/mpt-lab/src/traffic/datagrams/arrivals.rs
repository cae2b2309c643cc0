//! The fate of a stream's datagrams.

use std::collections::HashSet;
use std::time::Duration;

use super::{HEADER, Moment};

/// A datagram that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Its number, from 0.
    pub(crate) number: u64,
    /// The time at which it was sent.
    pub(crate) sent: Moment,
    /// The time at which the receiver's kernel got it.
    pub(crate) at: Moment,
}

/// The fate of a stream's datagrams.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrivals {
    /// Number of datagrams that were sent.
    pub(crate) sent: u64,
    /// The datagrams that arrived, in the order of arrival.
    pub(crate) arrivals: Vec<Arrival>,
    /// The time at which the first was sent.
    pub(crate) began: Moment,
    /// The time at which no more were due.
    pub(crate) ended: Moment,
}

impl Arrival {
    /// Reads it from the beginning of a datagram.
    pub(super) fn read(datagram: &[u8], at: Moment) -> Option<Self> {
        let (number, sent) = datagram.get(..HEADER)?.split_at(8);
        let number = u64::from_be_bytes(number.try_into().ok()?);
        Some(Self { number, sent: Moment(u64::from_be_bytes(sent.try_into().ok()?)), at })
    }

    /// Returns how long it was on its way, in milliseconds.
    pub(crate) fn delay(&self) -> f64 {
        self.at.millis_since(self.sent)
    }
}

impl Arrivals {
    /// Returns those that arrived, each once, in the order in which they did.
    pub(crate) fn distinct(&self) -> Vec<Arrival> {
        let mut known = HashSet::new();
        self.arrivals.iter().filter(|arrival| known.insert(arrival.number)).copied().collect()
    }

    /// Returns how many never arrived.
    pub(crate) fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.distinct().len() as u64)
    }

    /// Returns how many came after one with a larger number (RFC 4737, section 3).
    pub(crate) fn reordered(&self) -> u64 {
        let mut next = 0;
        let is_reordered = |arrival: &&Arrival| {
            let reordered = arrival.number < next;
            next = next.max(arrival.number + 1);
            reordered
        };
        self.distinct().iter().filter(is_reordered).count() as u64
    }

    /// Returns how many of those sent from `start` until `end` never arrived, judged by the numbers around them.
    pub(crate) fn lost_between(&self, start: Moment, end: Moment) -> u64 {
        let numbers = self.arrivals.iter().filter(|it| (start..=end).contains(&it.sent));
        let numbers: HashSet<u64> = numbers.map(|arrival| arrival.number).collect();
        match (numbers.iter().min(), numbers.iter().max()) {
            (Some(first), Some(last)) => last - first + 1 - numbers.len() as u64,
            _ => self.sent,
        }
    }

    /// Returns the first moment from `start` on at which datagrams arrive again and keep coming for `steadily` without a pause longer than `pause`.
    pub(crate) fn steady_from(
        &self,
        start: Moment,
        pause: Duration,
        steadily: Duration,
    ) -> Option<Moment> {
        let mut times: Vec<Moment> = self.arrivals.iter().map(|arrival| arrival.at).collect();
        times.sort_unstable();
        let times = &times[times.partition_point(|&at| at < start)..];
        let mut candidate = *times.first()?;
        for pair in times.windows(2) {
            if pair[1] > pair[0].after(pause) {
                candidate = pair[1];
            } else if pair[1] >= candidate.after(steadily) {
                return Some(candidate);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns arrivals: numbers, each sent at its own millisecond, and the millisecond at which it arrived; 100 were sent.
    fn arrivals(arrivals: &[(u64, u64)]) -> Arrivals {
        let millis = |at: u64| Moment(at * 1_000_000);
        let arrival = |&(number, at)| Arrival { number, sent: millis(number), at: millis(at) };
        let arrivals = arrivals.iter().map(arrival).collect();
        Arrivals { sent: 100, arrivals, ..Arrivals::default() }
    }

    #[test]
    fn losses_and_reordering_are_counted_by_number() {
        let arrivals = arrivals(&[(1, 1), (2, 2), (5, 6), (4, 7), (4, 8), (9, 9)]);
        assert_eq!((arrivals.lost(), arrivals.reordered()), (95, 1));
        assert_eq!(arrivals.lost_between(Moment(1_000_000), Moment(5_000_000)), 1);
        assert_eq!(arrivals.lost_between(Moment(0), Moment(20_000_000)), 4);
        let numbers: Vec<u64> = arrivals.distinct().iter().map(|arrival| arrival.number).collect();
        assert_eq!(numbers, [1, 2, 5, 4, 9]);
    }

    #[test]
    fn steady_means_without_a_pause() {
        let arrivals = arrivals(&[(0, 10), (1, 12), (2, 40), (3, 42), (4, 44), (5, 46), (6, 48)]);
        let steady = |start: u64, steadily| {
            let (pause, steadily) = (Duration::from_millis(5), Duration::from_millis(steadily));
            arrivals.steady_from(Moment(start * 1_000_000), pause, steadily)
        };
        assert_eq!(steady(0, 6), Some(Moment(40_000_000)));
        assert_eq!(steady(41, 6), Some(Moment(42_000_000)));
        assert_eq!(steady(0, 20), None);
        assert_eq!(steady(50, 1), None);
    }
}
