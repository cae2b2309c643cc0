//! The progress of the handshakes of a session.

use std::time::{Duration, Instant};

use mpt_wire::control::{Challenge, Sealing};

use crate::session::{CookieJar, Initiation};

/// Time between two handshakes that are begun because no path works, or because data needs other keys.
pub(crate) const BETWEEN_RESCUES: Duration = Duration::from_secs(1);

/// A handshake that this end has begun.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) initiation: Initiation,
    /// It has a challenge of the responder.
    pub(crate) challenged: bool,
    /// The initiation before, whose response may still be on its way.
    pub(crate) older: Option<Initiation>,
    /// The challenge for the next initiation: the responder has refused that of this one.
    pub(crate) refused: Option<Challenge>,
    /// The statement about sealed data in all initiations of this handshake.
    pub(crate) sealing: Option<Sealing>,
    /// The time at which this initiation was made.
    pub(crate) made: Instant,
    /// The time at which the first initiation since the last answer was made.
    pub(crate) since: Instant,
    pub(crate) next_send: Instant,
    pub(crate) interval: Duration,
}

/// The handshakes of a session: the one that goes on, and what is known of those before.
#[derive(Debug)]
pub(crate) struct Handshaking {
    /// The handshake that this end has begun, while it goes on.
    pub(crate) attempt: Option<Attempt>,
    pause_until: Instant,
    pub(crate) cookies: CookieJar,
    /// The time since which there were keys without interruption.
    pub(crate) established: Option<Instant>,
    /// The number of handshakes that led to keys in use.
    pub(crate) completed: u64,
    /// The latest challenge that an answered initiation has shown.
    pub(crate) answered: Option<u64>,
    ordinals: u64,
}

impl Handshaking {
    /// There was no handshake yet.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            attempt: None,
            pause_until: now,
            cookies: CookieJar::new(),
            established: None,
            completed: 0,
            answered: None,
            ordinals: 0,
        }
    }

    /// Begins no further handshake before `until`.
    pub(crate) fn pause(&mut self, until: Instant) {
        self.pause_until = until;
    }

    /// Returns the time before which this end begins no handshake.
    pub(crate) const fn pause_until(&self) -> Instant {
        self.pause_until
    }

    /// Returns the number of the next handshake that leads to keys, confirmed or not.
    pub(crate) fn next_ordinal(&mut self) -> u64 {
        self.ordinals += 1;
        self.ordinals
    }
}
