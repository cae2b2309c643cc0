//! The peer's table of paths.

use mpt_wire::control::PathEntry;

use crate::session::engine::SessionPathId;

/// The last table of paths that the peer has announced. It has at least one entry.
#[derive(Debug)]
pub(crate) struct PeerTable {
    entries: Vec<PathEntry>,
    /// The sequence number from which the table holds.
    pub(crate) from: u32,
    /// True if the path ids of the table are those of frames under keys whose handshake this end
    /// began.
    pub(crate) ours: bool,
}

impl PeerTable {
    /// Puts a table in the place, and the memory, of the one before. A table without entries is none.
    pub(crate) fn replace(
        place: &mut Option<Self>,
        new: impl Iterator<Item = PathEntry>,
        from: u32,
        ours: bool,
    ) {
        let mut entries = place.take().map(|before| before.entries).unwrap_or_default();
        entries.clear();
        entries.extend(new);
        *place = (!entries.is_empty()).then_some(Self { entries, from, ours });
    }

    /// Returns the entry of a path by its name in the table.
    pub(crate) fn entry(&self, id: SessionPathId) -> Option<PathEntry> {
        self.entries.iter().find(|entry| entry.path_id == id).copied()
    }

    /// Returns false if the peer's own name of a path is known to be no longer in use.
    pub(crate) fn may_name(&self, id: SessionPathId) -> bool {
        self.ours || self.entry(id).is_some()
    }
}
