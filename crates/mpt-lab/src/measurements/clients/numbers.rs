//! How the packets of a load are numbered.

/// The sequence numbers of the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Each follows the one before.
    InTurn,
    /// Each packet is long, and waits for earlier ones that are never sent.
    WithGaps,
}
