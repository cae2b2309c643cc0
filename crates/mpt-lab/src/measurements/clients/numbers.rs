//! The numbering of the packets of a load.

/// The sequence numbers of the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Each number follows the one before.
    InTurn,
    /// The numbers have gaps: each packet is long, and waits for earlier ones that are never sent.
    WithGaps,
}
