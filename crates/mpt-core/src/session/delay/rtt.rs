//! The round-trip time of a path, smoothed as TCP does (RFC 6298, section 2).

use std::time::Duration;

/// Estimator of one path's round-trip time. The granularity G of RFC 6298 is left out: the times of
/// probes are far finer than any of the timers made from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtt {
    /// The estimate, or `None` until the first sample.
    estimate: Option<Estimate>,
}

/// The estimate of a round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Estimate {
    /// SRTT.
    pub(crate) smoothed: Duration,
    /// RTTVAR, the mean deviation.
    pub(crate) variation: Duration,
    /// The smallest sample.
    pub(crate) minimum: Duration,
    latest: Duration,
}

impl Rtt {
    /// An estimator without any sample.
    #[must_use]
    pub const fn new() -> Self {
        Self { estimate: None }
    }

    /// Takes in one sample (RFC 6298, sections 2.2 and 2.3, with alpha = 1/8 and beta = 1/4). The
    /// echo of a token belongs to one sending of it, so that Karn's algorithm is not needed.
    pub fn record(&mut self, sample: Duration) {
        self.estimate = Some(match self.estimate {
            None => Estimate {
                smoothed: sample,
                variation: sample / 2,
                minimum: sample,
                latest: sample,
            },
            Some(e) => Estimate {
                variation: (e.variation * 3 + e.smoothed.abs_diff(sample)) / 4,
                smoothed: (e.smoothed * 7 + sample) / 8,
                minimum: e.minimum.min(sample),
                latest: sample,
            },
        });
    }

    /// All of it; None until the first sample.
    pub(crate) const fn known(&self) -> Option<Estimate> {
        self.estimate
    }

    /// SRTT; None until the first sample.
    #[must_use]
    pub fn smoothed(&self) -> Option<Duration> {
        self.estimate.map(|e| e.smoothed)
    }

    /// RTTVAR, the mean deviation; None until the first sample.
    #[must_use]
    pub fn variation(&self) -> Option<Duration> {
        self.estimate.map(|e| e.variation)
    }

    /// Returns the smallest sample.
    #[must_use]
    pub fn minimum(&self) -> Option<Duration> {
        self.estimate.map(|e| e.minimum)
    }

    /// Returns the newest sample.
    #[must_use]
    pub fn latest(&self) -> Option<Duration> {
        self.estimate.map(|e| e.latest)
    }

    /// SRTT + 4 RTTVAR: hardly any answer takes longer. None until the first sample.
    #[must_use]
    pub fn longest_expected(&self) -> Option<Duration> {
        self.estimate.map(|e| e.smoothed + e.variation * 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn follows_rfc_6298() {
        let mut rtt = Rtt::new();
        assert_eq!((rtt.smoothed(), rtt.variation(), rtt.longest_expected()), (None, None, None));
        rtt.record(ms(80));
        assert_eq!((rtt.smoothed(), rtt.variation()), (Some(ms(80)), Some(ms(40))));
        assert_eq!(rtt.longest_expected(), Some(ms(240)));
        // RTTVAR first, with the SRTT from before: 3/4 * 40 + 1/4 * |80 - 160|.
        rtt.record(ms(160));
        assert_eq!((rtt.smoothed(), rtt.variation()), (Some(ms(90)), Some(ms(50))));
        assert_eq!((rtt.minimum(), rtt.latest()), (Some(ms(80)), Some(ms(160))));
    }

    #[test]
    fn converges_from_above_and_below() {
        for start in [0, 2000] {
            let mut rtt = Rtt::new();
            rtt.record(ms(start));
            for _ in 0..100 {
                rtt.record(ms(50));
            }
            let error = rtt.smoothed().unwrap().abs_diff(ms(50));
            assert!(error < ms(1), "from {start}: {error:?}");
            assert!(rtt.variation().unwrap() < ms(1));
        }
    }
}
