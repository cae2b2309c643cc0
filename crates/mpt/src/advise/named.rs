//! A path and its name.

use mpt_core::advise::Path;

/// A path and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) path: Path,
}
