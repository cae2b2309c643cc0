//! The timers that can be configured, within bounds.

use std::time::Duration;

/// The shortest keepalive: 1000 probes a second on one path. Shorter ones are raised to it.
const SHORTEST: Duration = Duration::from_millis(1);
/// The longest time, so that no sum of it and an instant overflows. Longer ones are lowered to it.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The shortest keepalive of a path that is to be used sparingly, while traffic flows: ten times
/// the default.
const SPARING_KEEPALIVE: Duration = Duration::from_secs(1);
/// The shortest time between two probes of such a path while the connection is idle: just short
/// enough for the bindings of most NATs, which last for 30 s.
const SPARING_IDLE: Duration = Duration::from_secs(25);

/// The timers of a connection's paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Time between two probes of a path while the connection carries traffic. Zero switches
    /// liveness off. At least a millisecond otherwise.
    pub keepalive: Duration,
    /// Time between two probes of a path that is up while the connection is idle. Never shorter
    /// than `keepalive`.
    pub idle: Duration,
    /// The time without evidence after which a path is dead while the connection carries traffic.
    /// `None` stands for the longer of 3 keepalives and SRTT + 4 RTTVAR + one keepalive. A time of
    /// less than two keepalives counts as two, since with less every path would be dead between any
    /// two probes.
    pub dead: Option<Duration>,
}

impl Default for Timing {
    fn default() -> Self {
        Self { keepalive: Duration::from_millis(100), idle: Duration::from_secs(15), dead: None }
    }
}

impl Timing {
    /// Returns true if there are no probes and no deadlines at all.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.keepalive.is_zero()
    }

    /// Returns the timers of a path that is to be used sparingly: fewer probes, and hence a later
    /// death.
    #[must_use]
    pub fn sparing(self) -> Self {
        if self.is_off() {
            return self;
        }
        let keepalive = self.keepalive.max(SPARING_KEEPALIVE);
        Self {
            keepalive,
            idle: self.idle.max(SPARING_IDLE),
            dead: self.dead.map(|dead| dead.max(keepalive * 3)),
        }
    }

    /// Returns these timers within the bounds above.
    pub(super) fn bounded(self) -> Self {
        if self.is_off() {
            return self;
        }
        let keepalive = self.keepalive.clamp(SHORTEST, LONGEST);
        Self {
            keepalive,
            idle: self.idle.clamp(keepalive, LONGEST),
            dead: self.dead.map(|dead| dead.clamp(keepalive * 2, LONGEST * 2)),
        }
    }
}
