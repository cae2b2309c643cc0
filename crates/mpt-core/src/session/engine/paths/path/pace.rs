//! The pace at which a path is probed.

use std::time::{Duration, Instant};

use mpt_wire::control::Economy;

use crate::liveness::Timing;

/// The bytes of data per second, both ways together, from which on a path is busy: the probes of the
/// usual keepalive are about a tenth of it.
const BUSY: f64 = 25_000.0;
/// The time over which the rate of a path is measured.
const WEIGHED_OVER: Duration = Duration::from_secs(1);

/// The amount of data that a path carries, compared with its probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// The path carries little, and its probes are a part of it that matters.
    Light,
    /// The path carries so much that its probes do not matter.
    Busy,
}

/// The timers of a path, and what decides between them.
#[derive(Debug)]
pub(super) struct Pace {
    /// The timers where nothing is to be spared.
    timing: Timing,
    /// The economy that is configured for the path.
    economy: Economy,
    load: Load,
    /// The bytes of data that the path had carried when its load was last measured.
    weighed: u64,
    weighed_at: Instant,
}

impl Pace {
    pub(super) const fn new(now: Instant, timing: Timing) -> Self {
        Self { timing, economy: Economy::NONE, load: Load::Light, weighed: 0, weighed_at: now }
    }

    /// Sets the timers where nothing is to be spared.
    pub(super) fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
    }

    /// Sets the economy that is configured for the path.
    pub(super) fn set_economy(&mut self, economy: Economy) {
        self.economy = economy;
    }

    /// Returns the timers that suit both ends; `of_peer` is the economy that the peer asks for.
    pub(super) fn timing(&self, of_peer: Economy) -> Timing {
        match (self.economy.with(of_peer), self.load) {
            // On a busy path a late death would cost more than the probes.
            (Economy::NONE, _) | (_, Load::Busy) => self.timing,
            (_, Load::Light) => self.timing.sparing(),
        }
    }

    /// Measures the load of a path that has carried so many bytes. Returns true if it has changed.
    pub(super) fn weigh(&mut self, now: Instant, bytes: u64) -> bool {
        let elapsed = now.saturating_duration_since(self.weighed_at);
        if elapsed < WEIGHED_OVER {
            return false;
        }
        let rate = bytes.saturating_sub(self.weighed) as f64 / elapsed.as_secs_f64();
        (self.weighed, self.weighed_at) = (bytes, now);
        let load = match self.load {
            Load::Light if rate >= BUSY => Load::Busy,
            Load::Busy if rate < BUSY / 2.0 => Load::Light,
            same => same,
        };
        std::mem::replace(&mut self.load, load) != load
    }
}
