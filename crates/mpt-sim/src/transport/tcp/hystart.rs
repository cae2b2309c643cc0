//! The end of slow start by a growing round-trip time, or by a train of acknowledgements that lasts for half of one (Ha
//! and Rhee, Taming the elephants: New TCP slow start, Computer Networks 2011; the thresholds of the first rule are those
//! of RFC 9406, section 4.3, and those of the second one are those of Linux).

/// Number of samples of a round that decide (RFC 9406: N_RTT_SAMPLE).
const SAMPLES: u32 = 8;
/// Least and largest growth, in seconds, and the share of the round-trip time in between (MIN_RTT_THRESH,
/// MAX_RTT_THRESH, MIN_RTT_DIVISOR).
const LEAST_GROWTH: f64 = 0.004;
const LARGEST_GROWTH: f64 = 0.016;
const DIVISOR: f64 = 8.0;
/// Smallest window at which slow start may end, in segments.
const LEAST_WINDOW: f64 = 16.0;
/// Acknowledgements that follow each other within this time, in seconds, are a train: half of `hystart_ack_delta_us`, since
/// the simulated receiver acknowledges each segment, and that of Linux every second one.
const TRAIN_GAP: f64 = 0.001;
/// Additional duration of a train where the sender does not pace, in seconds: the time of four of its super-packets, at most this
/// (`hystart_ack_delay`).
const TRAIN_SLACK: f64 = 0.001;

#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// True if trains end slow start, too.
    trains: bool,
    /// The segment whose acknowledgement ends the round.
    end: u64,
    /// Least sample of the round.
    least: f64,
    samples: u32,
    /// Times of the beginning of the round, and of the last acknowledgement of the train that began with it, in seconds; `None` before the first
    /// round.
    train: Option<(f64, f64)>,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// The time at which it came, in seconds.
    pub(super) now: f64,
    /// The round-trip time that it shows, in seconds.
    pub(super) rtt: f64,
    /// The least round-trip time ever, in seconds.
    pub(super) base: f64,
    /// The window, in segments.
    pub(super) window: f64,
    /// Everything below this segment is acknowledged.
    pub(super) first: u64,
    /// The next segment to be sent.
    pub(super) next: u64,
}

impl HyStart {
    /// Begins slow start. With `trains`, a train of acknowledgements ends it, too.
    pub(super) const fn new(trains: bool) -> Self {
        Self { trains, end: 0, least: f64::INFINITY, samples: 0, train: None }
    }

    /// Handles an acknowledgement of new data. Returns whether slow start is over.
    pub(super) fn take(&mut self, sample: Sample) -> bool {
        let Sample { now, rtt, base, window, first, next } = sample;
        if first > self.end {
            *self = Self { end: next, train: Some((now, now)), ..Self::new(self.trains) };
        }
        let is_long = self.trains && self.train_is_long(now, base);
        let has_grown = self.has_grown(rtt, base);
        window >= LEAST_WINDOW && (is_long || has_grown)
    }

    /// True if acknowledgements have followed one another for half of a round-trip time since the round began.
    fn train_is_long(&mut self, now: f64, base: f64) -> bool {
        let Some((began, last)) = &mut self.train else { return false };
        if now - *last > TRAIN_GAP {
            return false;
        }
        *last = now;
        now - *began > (base + TRAIN_SLACK) / 2.0
    }

    /// True if the least of the first samples of the round shows a longer round-trip time.
    fn has_grown(&mut self, rtt: f64, base: f64) -> bool {
        if self.samples >= SAMPLES {
            return false;
        }
        self.samples += 1;
        self.least = self.least.min(rtt);
        let growth = (base / DIVISOR).clamp(LEAST_GROWTH, LARGEST_GROWTH);
        self.samples == SAMPLES && self.least >= base + growth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the round in which slow start ends. Rounds have 20 segments, the first samples of which are these, with acknowledgements `gap` apart.
    fn ends(rounds: &[f64], window: f64, gap: f64) -> Option<usize> {
        let mut hystart = HyStart::new(true);
        let (mut base, mut now) = (f64::INFINITY, 0.0);
        for (round, &rtt) in rounds.iter().enumerate() {
            for segment in 1..=20 {
                base = base.min(rtt);
                now += gap;
                let (first, next) = (20 * round as u64 + segment, 20 * (round as u64 + 1));
                if hystart.take(Sample { now, rtt, base, window, first, next }) {
                    return Some(round);
                }
            }
        }
        None
    }

    #[test]
    fn a_growth_of_an_eighth_ends_slow_start() {
        assert_eq!(ends(&[0.080, 0.085, 0.089, 0.091], 100.0, 0.003), Some(3));
        assert_eq!(ends(&[0.080, 0.085, 0.089, 0.089], 100.0, 0.003), None);
    }

    #[test]
    fn the_growth_has_its_bounds() {
        assert_eq!(ends(&[0.001, 0.0049, 0.0051], 100.0, 0.003), Some(2));
        assert_eq!(ends(&[1.0, 1.015, 1.017], 100.0, 0.003), Some(2));
    }

    #[test]
    fn small_windows_grow_on() {
        assert_eq!(ends(&[0.001, 0.1, 0.1], 15.0, 0.003), None);
    }

    #[test]
    fn a_train_of_half_a_round_trip_time_ends_slow_start() {
        assert_eq!(ends(&[0.030; 3], 100.0, 0.0009), Some(0), "17 ms of 15.5");
        assert_eq!(ends(&[0.050; 3], 100.0, 0.0009), None, "17 ms of 25.5");
        assert_eq!(ends(&[0.030; 3], 100.0, 0.0011), None, "no train");
    }
}
