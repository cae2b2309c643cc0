//! The writer of the counts of caps.

use tokio::task::JoinHandle;

use crate::caps::Store;

/// The state of the writer. One write is made at a time, beside everything else, because a disk may take its time.
#[derive(Debug, Default)]
pub(in crate::daemon) enum Writer {
    /// No file has been opened yet.
    #[default]
    Closed,
    /// The next write can be made.
    Ready(Store),
    /// A write is in progress.
    Writing(JoinHandle<(Store, std::io::Result<()>)>),
}
