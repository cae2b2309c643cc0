//! The lateness of frames.

use std::time::Duration;

use anyhow::Result;
use hdrhistogram::Histogram;

use super::protocol::Lateness;

/// The longest lateness that is told from a longer one, in nanoseconds: a minute.
const LONGEST: u64 = 60_000_000_000;
/// Decimal digits to which a lateness is known.
const DIGITS: u8 = 2;

/// Latenesses so far.
#[derive(Debug)]
pub(super) struct Record(Histogram<u64>);

impl Record {
    pub(super) fn new() -> Result<Self> {
        Ok(Self(Histogram::new_with_bounds(1, LONGEST, DIGITS)?))
    }

    pub(super) fn add(&mut self, lateness: Duration) {
        let nanoseconds = u64::try_from(lateness.as_nanos()).unwrap_or(LONGEST);
        self.0.saturating_record(nanoseconds.max(1));
    }

    pub(super) fn summary(&self) -> Lateness {
        let at = |quantile| Duration::from_nanos(self.0.value_at_quantile(quantile));
        Lateness {
            frames: self.0.len(),
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: Duration::from_nanos(self.0.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_known_to_two_digits() {
        let mut record = Record::new().unwrap();
        assert_eq!(record.summary(), Lateness::default());
        for microseconds in 1..=1000 {
            record.add(Duration::from_micros(microseconds));
        }
        record.add(Duration::from_secs(1000));
        let summary = record.summary();
        assert_eq!(summary.frames, 1001);
        let close = |value: Duration, micros: u64| {
            let ratio = value.as_secs_f64() / Duration::from_micros(micros).as_secs_f64();
            assert!((0.99..=1.01).contains(&ratio), "{value:?}");
        };
        close(summary.p50, 501);
        close(summary.p99, 991);
        close(summary.p999, 1000);
        assert!(summary.max >= Duration::from_secs(59));
    }
}
