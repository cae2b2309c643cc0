//! The round-trip time, and the retransmission timer made of it (RFC 6298).

use std::time::Duration;

/// Timeout before the first sample (RFC 6298, 2.1).
const INITIAL: Duration = Duration::from_secs(1);
/// Timeout after a handshake of more than one attempt, in seconds (5.7).
const AFTER_LOST_SYN: f64 = 3.0;
/// Longest timeout, back-off included (2.5).
const LONGEST: Duration = Duration::from_secs(60);
/// Least value that the variation counts as, in seconds: G.
const GRANULARITY: f64 = 0.001;

/// Estimates of one subflow.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Smoothed round-trip time in seconds; 0 before the first sample.
    smoothed: f64,
    variation: f64,
    least: f64,
    /// Least round-trip time since the handshake, in seconds.
    least_of_data: f64,
    latest: f64,
    backoff: u32,
    minimum: Duration,
    /// True if the minimum is one of the variation's part, not of the sum.
    minimum_of_variation: bool,
}

impl RttEstimator {
    /// Returns an estimator without a sample. The timeout is never below `minimum`; with `minimum_of_variation` it exceeds the round-trip time by at
    /// least that, as in Linux.
    pub fn new(minimum: Duration, minimum_of_variation: bool) -> Self {
        Self {
            smoothed: 0.0,
            variation: 0.0,
            least: f64::INFINITY,
            least_of_data: f64::INFINITY,
            latest: 0.0,
            backoff: 0,
            minimum,
            minimum_of_variation,
        }
    }

    /// Discards the measurement since the first segment had to be sent again: the timeout is 3 s to begin with (5.7).
    pub fn distrust(&mut self) {
        (self.smoothed, self.variation, self.backoff) = (AFTER_LOST_SYN, 0.0, 0);
    }

    /// Adds a measurement, and ends the back-off.
    pub fn sample(&mut self, measured: Duration) {
        let measured = measured.as_secs_f64();
        if self.smoothed == 0.0 {
            (self.smoothed, self.variation) = (measured, measured / 2.0);
        } else {
            self.variation = 0.75 * self.variation + 0.25 * (self.smoothed - measured).abs();
            self.smoothed = 0.875 * self.smoothed + 0.125 * measured;
        }
        self.least = self.least.min(measured);
        self.least_of_data = self.least_of_data.min(measured);
        self.latest = measured;
        self.backoff = 0;
    }

    /// Doubles the timeout (5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Returns how often the timer has been doubled.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Returns the retransmission timeout.
    pub fn timeout(&self) -> Duration {
        let base = if self.smoothed == 0.0 {
            INITIAL
        } else {
            let least =
                if self.minimum_of_variation { self.minimum.as_secs_f64() } else { GRANULARITY };
            let seconds = self.smoothed + (4.0 * self.variation).max(least);
            Duration::from_secs_f64(seconds.min(LONGEST.as_secs_f64()))
        };
        let doubled = base.max(self.minimum).saturating_mul(1 << self.backoff.min(16));
        doubled.min(LONGEST)
    }

    /// Returns the smoothed round-trip time, in seconds; 0 before the first sample.
    pub fn smoothed(&self) -> f64 {
        self.smoothed
    }

    /// Returns the variation in seconds.
    pub fn variation(&self) -> f64 {
        self.variation
    }

    /// Returns the least round-trip time ever measured, in seconds.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// Ends the handshake: [`Self::least_of_data`] begins anew.
    pub fn begin_data(&mut self) {
        self.least_of_data = f64::INFINITY;
    }

    /// Returns the least round-trip time since the handshake, in seconds: CUBIC in Linux begins when the connection is established, and its HyStart
    /// has not seen the round-trip time of the handshake.
    pub fn least_of_data(&self) -> f64 {
        self.least_of_data
    }

    /// Returns the latest round-trip time, in seconds.
    pub fn latest(&self) -> f64 {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_is_that_of_rfc_6298() {
        let mut rtt = RttEstimator::new(Duration::from_secs(1), false);
        assert_eq!(rtt.timeout(), Duration::from_secs(1));
        rtt.sample(Duration::from_millis(600));
        // 600 + 4 x 300
        assert_eq!(rtt.timeout().as_millis(), 1800);
        rtt.sample(Duration::from_millis(600));
        // The variation has shrunk to 225.
        assert_eq!(rtt.timeout().as_millis(), 1500);
        rtt.back_off();
        assert_eq!(rtt.timeout().as_millis(), 3000);
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.timeout(), LONGEST);
        for _ in 0..100 {
            rtt.sample(Duration::from_millis(10));
        }
        assert_eq!(rtt.timeout(), Duration::from_secs(1), "never below the minimum");
    }

    #[test]
    fn the_minimum_may_be_that_of_the_variation() {
        let mut rtt = RttEstimator::new(Duration::from_millis(200), true);
        for _ in 0..100 {
            rtt.sample(Duration::from_millis(50));
        }
        assert_eq!(rtt.timeout().as_millis(), 250);
    }
}
