//! The state of a tunnel, and the exit code by which programs read it.

use serde::Serialize;
use strum::Display;

/// The state of everything that was asked about.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum State {
    /// Every path of every connection carries packets.
    Up,
    /// Some paths or connections carry packets.
    Degraded,
    /// No connection carries packets.
    Down,
    /// The daemon does not answer.
    Unreachable,
}

impl State {
    /// The exit code of `mpt status`, as documented in `--help`.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            State::Up => 0,
            State::Unreachable => 3,
            State::Degraded => 5,
            State::Down => 6,
        }
    }
}
