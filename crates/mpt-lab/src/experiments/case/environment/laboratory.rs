//! The programs that a measurement is made with.

use std::path::PathBuf;

/// The programs that a measurement is made with.
#[derive(Debug, Clone)]
pub(crate) struct Laboratory {
    /// Path of this program.
    pub(crate) laboratory: PathBuf,
    /// The daemon.
    pub(crate) mptd: PathBuf,
    /// A directory of the user's own adapters, which come before those of the same name in here.
    pub(crate) adapters: Option<PathBuf>,
}
