//! The speed test of a session.

use crate::PathId;
use crate::session::speed::SpeedTest;

/// The test of a session that runs, or was the last.
#[derive(Debug)]
pub(crate) struct Test {
    pub(crate) number: u64,
    pub(crate) path: PathId,
    /// Bytes of an outer IP packet that are not of the frame.
    pub(crate) overhead: usize,
    pub(crate) speed: SpeedTest,
}
