//! The receive window of a connection.

use std::time::Duration;

use mpt_api::{Equalize, Late};

/// Receive window of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reorder {
    /// Size in packets; 0: off.
    pub window: u16,
    /// The longest a packet waits.
    pub max_delay: Duration,
    /// True if a gap is given up as soon as no path can still fill it.
    pub early_release: bool,
    /// Treatment of late packets.
    pub late: Late,
    /// Which packets are held on shorter paths.
    pub equalize: Equalize,
}
