//! How many proofs a path needs until it carries data again: more the more often it failed.

use std::time::{Duration, Instant};

/// Proofs that a path needs at its first start.
const AT_START: u32 = 1;
/// Proofs that a path needs after it was dead.
const AFTER_DEATH: u32 = 3;
/// The most it ever needs: 2.4 s at the default keepalive.
const AT_MOST: u32 = 24;
/// A death sooner than this after the last rise doubles the number.
const SOON: Duration = Duration::from_secs(10);
/// After being up for so long, earlier deaths are forgotten.
const FORGIVEN: Duration = Duration::from_secs(60);

/// Counts proofs, and decides how many are enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hysteresis {
    /// Proofs needed after the next death, and after a restart while above [`AFTER_DEATH`].
    penalty: u32,
    needed: u32,
    proofs: u32,
    counted: Option<Instant>,
    rose: Option<Instant>,
}

impl Hysteresis {
    pub(super) fn new() -> Self {
        Self { penalty: AFTER_DEATH, needed: AT_START, proofs: 0, counted: None, rose: None }
    }

    /// One proof; those closer than `spacing` to the last that counted do not count. Returns whether
    /// there are enough now.
    pub(super) fn prove(&mut self, now: Instant, spacing: Duration) -> bool {
        let apart = |last| now.saturating_duration_since(last) >= spacing;
        if self.counted.is_none_or(apart) {
            self.counted = Some(now);
            self.proofs += 1;
        }
        self.proofs >= self.needed
    }

    /// Whether there are proofs, but not enough.
    pub(super) fn is_counting(&self) -> bool {
        self.proofs > 0 && self.proofs < self.needed
    }

    /// The proofs were too far apart: counting begins anew.
    pub(super) fn lapse(&mut self) {
        (self.proofs, self.counted) = (0, None);
    }

    pub(super) fn rise(&mut self, now: Instant) {
        self.rose = Some(now);
        self.lapse();
    }

    pub(super) fn die(&mut self, now: Instant) {
        let up = self.rose.map_or(FORGIVEN, |rose| now.saturating_duration_since(rose));
        if up >= FORGIVEN {
            self.penalty = AFTER_DEATH;
        } else if up < SOON {
            self.penalty = (self.penalty * 2).min(AT_MOST);
        }
        self.needed = self.penalty;
        self.lapse();
    }

    /// Somebody who knows brought the path back. That is as good as a first start, unless the path
    /// has been failing: then it remains held back.
    pub(super) fn restart(&mut self) {
        self.needed = if self.penalty > AFTER_DEATH { self.penalty } else { AT_START };
        self.lapse();
    }

    /// Proofs needed at present.
    pub(super) fn needed(&self) -> u32 {
        self.needed
    }
}
