//! Paths whose remote address is not known yet.

use mpt_config::{Path, Remote};

/// Returns true if the name of the remote end of a path is not resolved yet.
pub(in crate::daemon) fn is_unknown(path: &Path) -> bool {
    matches!(path.remote, Remote::Name { address: None, .. })
}
