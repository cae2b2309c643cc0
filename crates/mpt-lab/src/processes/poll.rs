//! How often what cannot be awaited is looked at.

use std::time::Duration;

/// How often a waiting loop looks again. Coarse, because the machine is busy being measured.
pub(crate) const POLL: Duration = Duration::from_millis(20);
