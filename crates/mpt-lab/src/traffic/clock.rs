//! The clock of all traffic.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::time::TimeSpec;

/// A moment: nanoseconds since 1970 by the clock with which the kernel stamps packets (`CLOCK_REALTIME`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) u64);

impl Moment {
    /// Returns the present moment.
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Converts a time stamp of the kernel (`SCM_TIMESTAMPNS`).
    pub(crate) fn stamped(stamp: TimeSpec) -> Self {
        Self(u64::try_from(Duration::from(stamp).as_nanos()).unwrap_or(u64::MAX))
    }

    /// The time since `earlier`, in milliseconds; negative when that is later.
    pub(crate) fn millis_since(self, earlier: Self) -> f64 {
        (i128::from(self.0) - i128::from(earlier.0)) as f64 / 1e6
    }

    /// Returns the moment after `time`.
    pub(crate) fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// Returns the moment `time` before this one.
    pub(crate) fn before(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_sign() {
        let now = Moment::now();
        let later = now.after(Duration::from_micros(1500));
        assert_eq!((later.millis_since(now), now.millis_since(later)), (1.5, -1.5));
        assert_eq!(later.before(Duration::from_micros(1500)), now);
    }
}
