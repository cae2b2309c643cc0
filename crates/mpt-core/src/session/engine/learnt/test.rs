//! The speed test of a session.

use crate::PathId;
use crate::session::speed::SpeedTest;

/// The test of a session that runs, or was the last.
#[derive(Debug)]
pub(in crate::session::engine) struct Test {
    pub(in crate::session::engine) number: u64,
    pub(in crate::session::engine) path: PathId,
    /// Bytes of an outer IP packet that are not of the frame.
    pub(in crate::session::engine) overhead: usize,
    pub(in crate::session::engine) speed: SpeedTest,
}
