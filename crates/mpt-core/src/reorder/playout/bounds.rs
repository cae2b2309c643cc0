//! The bounds of play-out in numbers and in time: its own, within those that are configured.

use std::time::Duration;

use crate::reorder::{Config, MAX_DELAY_LIMIT};

/// Numbers ahead of the first one that has not been played out that can wait.
pub(super) const WINDOW: i32 = 32_768;
/// The longest hold behind the shortest path, in microseconds.
pub(super) const LONGEST: i64 = 1_500_000;

/// The bounds of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Numbers ahead of the first one that has not been played out that may wait, at most [`WINDOW`].
    pub(super) window: i32,
    /// The longest hold behind the shortest path, in microseconds, at most [`LONGEST`].
    pub(super) hold: i64,
    /// The longest time that a packet waits after its arrival, in microseconds.
    pub(super) stay: i64,
}

impl Config {
    /// Returns how many numbers may wait, and the longest hold behind the shortest path, while bulk
    /// is held until its time.
    #[must_use]
    pub fn playout(&self) -> (u16, Duration) {
        Bounds::of(*self).shown()
    }
}

impl Bounds {
    /// Returns the bounds that a configuration allows.
    pub(crate) fn of(config: Config) -> Self {
        let set = config.max_delay.map(|it| it.min(MAX_DELAY_LIMIT).as_micros() as i64);
        Self {
            window: config.window.map_or(WINDOW, |it| WINDOW.min(it.into())),
            hold: set.map_or(LONGEST, |it| it.min(LONGEST)),
            stay: set.unwrap_or(i64::MAX),
        }
    }

    /// Returns the window in numbers, and the longest hold behind the shortest path.
    pub(crate) fn shown(&self) -> (u16, Duration) {
        (self.window as u16, Duration::from_micros(self.hold.unsigned_abs()))
    }
}
