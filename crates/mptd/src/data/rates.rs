//! The rates at which paths carry packets.

use std::collections::BTreeMap;
use std::time::Duration;

use mpt_core::{PathId, Traffic};

/// How often rates are taken.
pub(super) const RATE_PERIOD: Duration = Duration::from_secs(1);

/// Traffic of every path over the last whole period.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    pub(super) paths: BTreeMap<PathId, PathRates>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathRates {
    pub(super) sent: Rate,
    pub(super) received: Rate,
}

/// A counter as it was when rates were last taken, and how far it went in the period before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rate {
    last: Traffic,
    pub(super) step: Traffic,
}

impl Rate {
    pub(super) fn take(&mut self, now: Traffic) {
        // A path that took over the identity of a removed one starts below it.
        self.step = Traffic {
            packets: now.packets.saturating_sub(self.last.packets),
            bytes: now.bytes.saturating_sub(self.last.bytes),
        };
        self.last = now;
    }
}
