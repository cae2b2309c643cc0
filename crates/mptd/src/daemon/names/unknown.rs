//! Paths whose remote address is not known yet.

use mpt_config::Path;

/// Returns true if the name of the remote end of a path is not resolved yet.
pub(in crate::daemon) fn is_unknown(path: &Path) -> bool {
    path.remote_name.is_some() && path.remote.is_unspecified() && !path.learn
}
