//! The round-trip time, and the retransmission timer made of it (RFC 6298).

use std::time::Duration;

/// Timer before the first sample (RFC 6298, 2.1).
const INITIAL: Duration = Duration::from_secs(1);
/// Timer where the handshake took more than one attempt, in seconds (5.7).
const AFTER_LOST_SYN: f64 = 3.0;
/// Longest timer, back-off included (2.5).
const LONGEST: Duration = Duration::from_secs(60);
/// Resolution that the variation is never counted below: G.
const GRANULARITY: f64 = 0.001;

/// Estimates of one subflow.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Seconds; 0 before the first sample.
    smoothed: f64,
    variation: f64,
    least: f64,
    /// The least since the handshake.
    least_of_data: f64,
    latest: f64,
    backoff: u32,
    minimum: Duration,
    /// The minimum is one of the variation's part, not of the sum.
    minimum_of_variation: bool,
}

impl RttEstimator {
    /// No sample yet; the timer is never below `minimum`. `minimum_of_variation`: it is longer than the round-trip time
    /// by that, as in Linux.
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

    /// The first segment had to be sent again, so that there is no measurement: 3 s to begin with (5.7).
    pub fn distrust(&mut self) {
        (self.smoothed, self.variation, self.backoff) = (AFTER_LOST_SYN, 0.0, 0);
    }

    /// Takes a measurement; ends the back-off.
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

    /// Doubles the timer (5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Returns how often the timer has been doubled.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The retransmission timeout.
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

    /// Smoothed, in seconds; 0 before the first sample.
    pub fn smoothed(&self) -> f64 {
        self.smoothed
    }

    /// Variation in seconds.
    pub fn variation(&self) -> f64 {
        self.variation
    }

    /// The least ever measured, in seconds.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The handshake is over: [`Self::least_of_data`] begins anew.
    pub fn begin_data(&mut self) {
        self.least_of_data = f64::INFINITY;
    }

    /// The least measured since the handshake, in seconds: CUBIC in Linux begins when the connection is established, and
    /// its HyStart has not seen what the handshake took.
    pub fn least_of_data(&self) -> f64 {
        self.least_of_data
    }

    /// The latest measured, in seconds.
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
