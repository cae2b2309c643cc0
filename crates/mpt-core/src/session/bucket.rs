//! A token bucket.

use std::time::{Duration, Instant};

/// A token bucket: it allows a burst of events at once, and one more event for each interval that
/// passes. It takes 16 bytes and no timer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bucket {
    /// The time at which the bucket will be full again; `None` while it was never used.
    full_at: Option<Instant>,
}

impl Bucket {
    /// A bucket that was never used.
    pub(crate) const FULL: Self = Self { full_at: None };

    /// Takes a token if there is one. `interval`: the time in which one comes back; `burst`: how
    /// many a full bucket holds.
    pub(crate) fn take(&mut self, now: Instant, interval: Duration, burst: u32) -> bool {
        let full_at = self.full_at.map_or(now, |at| at.max(now)) + interval;
        let has_token = full_at - now <= interval * burst;
        if has_token {
            self.full_at = Some(full_at);
        }
        has_token
    }

    /// Returns when there is a token at the latest; `None`: there is one now. `interval` and `burst` as for
    /// [`Self::take`].
    pub(crate) fn next_token(&self, interval: Duration, burst: u32) -> Option<Instant> {
        let full_at = self.full_at?;
        full_at.checked_sub(interval * burst.saturating_sub(1))
    }

    /// Returns whether the bucket is as good as new.
    pub(crate) fn is_full(&self, now: Instant) -> bool {
        self.full_at.is_none_or(|at| at <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_a_burst_and_fills_with_time() {
        #[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
        let start = Instant::now();
        let (mut bucket, interval) = (Bucket::default(), Duration::from_millis(100));
        let mut taken = |now| (0..100).filter(|_| bucket.take(now, interval, 20)).count();
        assert_eq!(taken(start), 20);
        assert_eq!(taken(start + Duration::from_millis(99)), 0);
        assert_eq!(taken(start + Duration::from_millis(550)), 5);
        assert_eq!(taken(start + Duration::from_secs(60)), 20);
        assert!(!bucket.is_full(start + Duration::from_secs(60)));
        assert!(bucket.is_full(start + Duration::from_secs(62)));
        let next = bucket.next_token(interval, 20).unwrap();
        assert_eq!(next, start + Duration::from_secs(60) + interval);
        assert!(!bucket.take(next - Duration::from_nanos(1), interval, 20));
        assert!(bucket.take(next, interval, 20));
    }
}
