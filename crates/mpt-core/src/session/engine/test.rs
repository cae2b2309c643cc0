//! The speed test of a session.

use crate::PathId;
use crate::session::speed::SpeedTest;

/// The test of a session that runs, or was the last.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) number: u64,
    pub(super) path: PathId,
    /// Bytes of an outer IP packet that are not of the frame.
    pub(super) overhead: usize,
    pub(super) speed: SpeedTest,
}
