//! The sending direction of a path: its states, and what leads from one to the next.

use std::time::Instant;

use super::state::State;

/// The sending direction of a path.
///
/// ```text
///   Suspended --start--> Starting --confirmed--> Up --deadline--> Dead
///                                                ^                 | ^
///                                        enough  |       confirmed | | deadline
///                                                |                 v |
///                                                +------------- Returning
/// ```
///
/// From every state, a start leads to `Starting`, a suspension to `Suspended`, and liveness that is
/// switched off to `Up`. `Dead` leads straight to `Up` where one confirmation is enough.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sending {
    /// The interface or the path is administratively down: the path is not probed and not judged.
    Suspended,
    /// The path was never up since its start.
    Starting(Trial),
    /// The peer confirms that it hears us.
    Up,
    /// The path died at this time, and nothing was confirmed since, or not for long enough.
    Dead(Instant),
    /// The path was dead, and some of the confirmations that it needs have come.
    Returning(Trial),
}

/// A path that has to be confirmed before it is up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// The last death, or the start.
    fell: Instant,
    /// True once a confirmation is known to date from after `fell`. An echo always is; a report may
    /// describe earlier frames.
    certain: bool,
}

impl Sending {
    /// A path that starts now.
    pub(super) fn start(now: Instant) -> Self {
        Self::Starting(Trial { fell: now, certain: false })
    }

    /// Returns the state as the owner sees it.
    pub(super) fn state(self) -> State {
        match self {
            Self::Suspended | Self::Starting(_) | Self::Returning(_) => State::Probing,
            Self::Up => State::Up,
            Self::Dead(_) => State::Dead,
        }
    }

    pub(super) fn is_up(self) -> bool {
        matches!(self, Self::Up)
    }

    pub(super) fn is_suspended(self) -> bool {
        matches!(self, Self::Suspended)
    }

    /// Returns true if a confirmation is known to date from after the last death or start.
    pub(super) fn is_certain(self) -> bool {
        matches!(self, Self::Starting(trial) | Self::Returning(trial) if trial.certain)
    }

    /// Returns the time of the last death, if the path has not been up since.
    pub(super) fn fell(self) -> Option<Instant> {
        match self {
            Self::Dead(fell) | Self::Returning(Trial { fell, .. }) => Some(fell),
            Self::Suspended | Self::Starting(_) | Self::Up => None,
        }
    }

    /// A confirmation has come that dates from `since` at the earliest, and is not enough.
    pub(super) fn confirm(&mut self, since: Instant) {
        match self {
            Self::Starting(trial) | Self::Returning(trial) => trial.certain |= since >= trial.fell,
            Self::Dead(fell) => {
                *self = Self::Returning(Trial { fell: *fell, certain: since >= *fell });
            }
            Self::Suspended | Self::Up => {}
        }
    }

    /// Confirmations have ceased.
    pub(super) fn lose(&mut self, now: Instant) {
        match self {
            Self::Up => *self = Self::Dead(now),
            Self::Starting(trial) => trial.certain = false,
            Self::Returning(trial) => *self = Self::Dead(trial.fell),
            Self::Suspended | Self::Dead(_) => {}
        }
    }
}
