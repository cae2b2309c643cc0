//! The state of one path, and its timers.

use std::time::{Duration, Instant};

use super::PathConfig;

/// The time after the peer has announced a path as down in which a keepalive is no confirmation,
/// since it may have been sent before. The prototype sends them at whole seconds.
const HOLD: Duration = Duration::from_secs(2);
/// Pause after an attempt to prove such a path that was not answered.
const PROOF_PAUSE: Duration = Duration::from_secs(10);

/// A path and its state.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) config: PathConfig,
    /// The time at which a keepalive was last heard; at first when the path was taken into use.
    pub(super) heard: Instant,
    /// True if nothing has arrived for too long.
    pub(super) silent: bool,
    /// The peer said that it is down, and when it may be asked whether it still is.
    pub(super) told_down: Option<Instant>,
    next_keepalive: Instant,
}

impl Path {
    pub(super) fn new(now: Instant, config: PathConfig) -> Self {
        Self { config, heard: now, silent: false, told_down: None, next_keepalive: now }
    }

    /// True if data may be sent on it.
    pub(super) fn is_good(&self) -> bool {
        self.config.usable && !self.silent && self.told_down.is_none()
    }

    /// Becomes usable, or not; what was known of it before means nothing then.
    pub(super) fn set_usable(&mut self, now: Instant, usable: bool) {
        *self = Self::new(now, PathConfig { usable, ..self.config.clone() });
    }

    /// Returns the time at which it is silent if nothing is heard.
    pub(super) fn silent_at(&self, dead: Duration) -> Option<Instant> {
        (self.config.usable && !self.silent && !dead.is_zero()).then(|| self.heard + dead)
    }

    /// Returns the time at which the next keepalive is due. A path that is down here sends none, or the peer would take
    /// it into use again; one that is down otherwise does, or it would never come back.
    pub(super) fn keepalive_at(&self, keepalive: Duration) -> Option<Instant> {
        (self.config.usable && !keepalive.is_zero()).then_some(self.next_keepalive)
    }

    /// A keepalive was sent.
    pub(super) fn keepalive_sent(&mut self, now: Instant, keepalive: Duration) {
        self.next_keepalive = now + keepalive;
    }

    /// The peer takes it out of use.
    pub(super) fn tell_down(&mut self, now: Instant) {
        self.told_down = Some(now + HOLD);
    }

    /// True if the peer, which is heard, is to be asked if it hears us, too.
    pub(super) fn is_to_be_proved(&self, now: Instant) -> bool {
        self.config.usable && self.told_down.is_some_and(|at| at <= now)
    }

    /// It was not proved.
    pub(super) fn not_proved(&mut self, now: Instant) {
        if self.told_down.is_some() {
            self.told_down = Some(now + PROOF_PAUSE);
        }
    }
}
