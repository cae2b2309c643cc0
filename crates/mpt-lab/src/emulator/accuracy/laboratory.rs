//! The common needs of all measurements of the accuracy.

use std::path::Path;
use std::time::Duration;

use crate::console::interrupt::Interrupt;

/// The laboratory of the accuracy measurements.
pub(super) struct Laboratory<'a> {
    pub(super) executable: &'a Path,
    pub(super) interrupt: &'a Interrupt,
    pub(super) quick: bool,
}

impl Laboratory<'_> {
    /// The time to measure for.
    pub(super) fn time(&self, full: u64, quick: u64) -> Duration {
        Duration::from_secs(if self.quick { quick } else { full })
    }
}
