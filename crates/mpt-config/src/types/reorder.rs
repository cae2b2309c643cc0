//! The receive window of a connection.

use std::time::Duration;

use mpt_api::{Equalize, Late};
use mpt_core::reorder::{USUAL_MAX_DELAY, USUAL_WINDOW};

/// Receive window of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reorder {
    /// Size in packets; 0: off. `None`: as the measured paths need.
    pub window: Option<u16>,
    /// The longest time that a packet waits. `None`: as the measured paths need.
    pub max_delay: Option<Duration>,
    /// True if a gap is given up as soon as no path can still fill it.
    pub early_release: bool,
    /// Treatment of late packets.
    pub late: Late,
    /// The packets that are held on shorter paths.
    pub equalize: Equalize,
}

impl Reorder {
    /// Returns the window in packets where nothing is measured; 0 for off.
    #[must_use]
    pub fn window(&self) -> u16 {
        self.window.unwrap_or(USUAL_WINDOW)
    }

    /// Returns the longest time that a packet waits where nothing is measured.
    #[must_use]
    pub fn max_delay(&self) -> Duration {
        self.max_delay.unwrap_or(USUAL_MAX_DELAY)
    }
}
