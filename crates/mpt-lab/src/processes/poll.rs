//! The interval of polling.

use std::time::Duration;

/// Interval at which a waiting loop looks again. It is coarse, because the machine is busy being
/// measured.
pub(crate) const POLL: Duration = Duration::from_millis(20);
