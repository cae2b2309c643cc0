//! The rates at which paths carry packets.

use std::collections::BTreeMap;
use std::time::Duration;

use mpt_core::{PathId, Traffic};

/// The interval at which rates are taken.
pub(in crate::data) const RATE_PERIOD: Duration = Duration::from_secs(1);

/// Traffic of every path over the last whole period.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    pub(in crate::data) paths: BTreeMap<PathId, PathRates>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::data) struct PathRates {
    pub(in crate::data) sent: Rate,
    pub(in crate::data) received: Rate,
}

/// A counter as it was when rates were last taken, and how far it went in the period before.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::data) struct Rate {
    last: Traffic,
    pub(in crate::data) step: Traffic,
}

impl Rate {
    pub(in crate::data) fn take(&mut self, now: Traffic) {
        // A path that took over the identity of a removed one starts below it.
        self.step = Traffic {
            packets: now.packets.saturating_sub(self.last.packets),
            bytes: now.bytes.saturating_sub(self.last.bytes),
        };
        self.last = now;
    }
}
