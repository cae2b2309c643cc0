//! The place in a file that is read, and at which a mistake is reported.

use std::path::Path;
use std::time::Duration;

use anyhow::Error;

use crate::experiments::definition::syntax::source::{Source, Step, Tree};

/// Bytes that a packet of a queue limit counts as, where limits of different kinds are summed.
pub(super) const FULL_PACKET: u64 = 1500;

/// The place at which a mistake is reported.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) tree: &'a Tree<'a>,
    pub(super) table: &'static str,
    pub(super) index: usize,
    pub(super) scale: f64,
    pub(super) directory: Option<&'a Path>,
    /// Seed of everything that is drawn when the file is read.
    pub(super) seed: u64,
    /// Longest duration of the traffic.
    pub(super) span: Duration,
}

impl Place<'_> {
    pub(super) fn error(&self, key: &str, message: impl AsRef<str>) -> Error {
        let path = [Step::Key(self.table), Step::Index(self.index), Step::Key(key)];
        self.source.error_at(self.tree, &path, message)
    }
}
