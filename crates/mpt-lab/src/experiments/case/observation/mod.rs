//! The observations of a measurement besides its traffic: counters, processor time, and the paths as the daemon sees them.

pub(super) mod counters;
pub(super) mod cpu;
pub(super) mod watch;

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The observations of a measurement besides its traffic, and the part of the time that counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Observation {
    /// The companions of the traffic.
    pub(crate) beside: Vec<Beside>,
    /// Time for which they run alone before the traffic begins.
    pub(crate) lead: Duration,
    /// The part of the traffic's time that counts: its beginning and its end.
    pub(crate) counts: (Duration, Duration),
    /// Interval at which the daemon at host `a` is asked for its paths; `None` for never.
    pub(crate) watch: Option<Duration>,
    /// Rates that are to be reached again after a change of the links.
    pub(crate) targets: Vec<Target>,
}

/// A companion of the traffic, through the same tunnel unless it says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub(crate) enum Beside {
    /// Echo requests by `ping` from `a` to `b`.
    Ping {
        /// Time between two of them.
        interval: Duration,
    },
    /// Short messages over one TCP connection from `a`, each of which `b` sends back, as a remote shell does with keys.
    Echo {
        /// Time between two of them.
        interval: Duration,
    },
    /// A web page of 30 objects that `b` loads from `a` over 6 connections, again and again.
    Page {
        /// Time between the end of one load and the beginning of the next.
        pause: Duration,
    },
    /// A TCP flow from `a` to `b` that is not part of the traffic.
    Rival {
        /// The way of its packets.
        over: Over,
        /// Time from the beginning of the traffic to its own.
        after: Duration,
        /// Its congestion control.
        congestion: String,
    },
}

/// The way of a rival's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Over {
    /// A link, outside of any tunnel: its index.
    Link(usize),
    /// The second connection between the daemons.
    SecondConnection,
}

/// A rate that the traffic is to reach after something has changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Target {
    /// The direction of the change, which decides the metric of the time.
    pub(crate) step: Step,
    /// Time of the change, since the traffic began.
    pub(crate) after: Duration,
    /// Time until which the rate has to have been held.
    pub(crate) until: Duration,
    /// The payload rate that the paths carry then, in bit/s.
    pub(crate) rate: u64,
}

/// The direction of a change of rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Step {
    /// The rate has fallen.
    Down,
    /// The rate has risen.
    Up,
}

impl Observation {
    /// True if nothing is observed that was not always: such a measurement keeps the name that it has without.
    pub(crate) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Observation {
    fn default() -> Self {
        Self {
            beside: Vec::new(),
            lead: Duration::ZERO,
            counts: (Duration::from_secs(3), Duration::from_secs(10)),
            watch: None,
            targets: Vec::new(),
        }
    }
}
