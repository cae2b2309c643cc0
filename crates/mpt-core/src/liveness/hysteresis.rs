//! The number of confirmations that a path needs until it carries data again: the more often it
//! failed, the more.

use std::time::{Duration, Instant};

/// Confirmations that a path needs at its first start.
const AT_START: u32 = 1;
/// Confirmations that a path needs after it was dead.
const AFTER_DEATH: u32 = 3;
/// The most confirmations that a path ever needs: 2.4 s at the default keepalive.
const AT_MOST: u32 = 24;
/// A death sooner than this after the path came up doubles the number of confirmations.
const SOON: Duration = Duration::from_secs(10);
/// A path is held back if it was up for less than so many times as long as it then stood still.
const MOSTLY_UP: u32 = 2;
/// Earlier deaths are forgotten when a path has been up for so long.
const FORGIVEN: Duration = Duration::from_secs(60);

/// The last death of a path.
#[derive(Clone, Copy, Debug)]
struct Fall {
    /// The penalty before it.
    penalty: u32,
    /// The time for which the path was up, until its last sign of life.
    up: Duration,
    /// The last sign of life.
    silent: Instant,
}

/// Counts confirmations, and decides how many are enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hysteresis {
    /// Confirmations needed after the next death, and after a restart while above [`AFTER_DEATH`].
    penalty: u32,
    fall: Option<Fall>,
    needed: u32,
    confirmations: u32,
    counted: Option<Instant>,
    rose: Option<Instant>,
}

impl Hysteresis {
    pub(super) fn new() -> Self {
        Self {
            penalty: AFTER_DEATH,
            fall: None,
            needed: AT_START,
            confirmations: 0,
            counted: None,
            rose: None,
        }
    }

    /// Takes one confirmation, which counts only `spacing` after the last one that did. Returns true if
    /// there are enough now.
    pub(super) fn confirm(&mut self, now: Instant, spacing: Duration) -> bool {
        let apart = |last| now.saturating_duration_since(last) >= spacing;
        if self.counted.is_none_or(apart) {
            self.counted = Some(now);
            self.confirmations += 1;
        }
        self.confirmations >= self.needed
    }

    /// Returns true if there are confirmations, but not enough.
    pub(super) fn is_counting(&self) -> bool {
        self.confirmations > 0 && self.confirmations < self.needed
    }

    /// The confirmations were too far apart: counting begins anew.
    pub(super) fn lapse(&mut self) {
        (self.confirmations, self.counted) = (0, None);
    }

    pub(super) fn rise(&mut self, now: Instant) {
        self.rose = Some(now);
        self.lapse();
    }

    /// The path died, and gave its last sign of life at `silent`.
    pub(super) fn die(&mut self, now: Instant, silent: Instant) {
        let up = |until: Instant| {
            self.rose.map_or(FORGIVEN, |rose| until.saturating_duration_since(rose))
        };
        self.fall = Some(Fall { penalty: self.penalty, up: up(silent), silent });
        let up = up(now);
        if up >= FORGIVEN {
            self.penalty = AFTER_DEATH;
        } else if up < SOON {
            self.penalty = (self.penalty * 2).min(AT_MOST);
        }
        self.needed = self.penalty;
        self.lapse();
    }

    /// The echo of a probe that left before the path died was only late: the path stood still until now, as radio links
    /// do, and lost nothing. Where it was up for much longer before, that counts as no death, and the path is up with this
    /// confirmation.
    pub(super) fn pardon(&mut self, now: Instant) {
        let Some(Fall { penalty, up, silent }) = self.fall else { return };
        if up >= now.saturating_duration_since(silent) * MOSTLY_UP {
            (self.penalty, self.needed) = (penalty, AT_START);
        }
    }

    /// The administrator or the interface brought the path back. That counts as a first start, unless
    /// the path has been failing: then it remains held back.
    pub(super) fn restart(&mut self) {
        self.needed = if self.penalty > AFTER_DEATH { self.penalty } else { AT_START };
        self.lapse();
    }

    /// Returns the number of confirmations needed at present.
    pub(super) fn needed(&self) -> u32 {
        self.needed
    }
}
