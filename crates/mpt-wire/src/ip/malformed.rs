//! Why bytes are not the header they should be.

/// The ways in which bytes are not the header they should be. The sender is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Malformed {
    /// Shorter than the header's fixed part.
    #[error("shorter than its header")]
    Truncated,
    /// Neither IPv4 nor IPv6, or not the one asked for.
    #[error("wrong IP version")]
    Version,
    /// The header's length field is too small for the header or goes beyond the packet.
    #[error("impossible header length")]
    HeaderLength,
    /// The packet's length field is too small for its header or larger than what is there.
    #[error("impossible packet length")]
    Length,
    /// The chain of IPv6 extension headers goes beyond the packet or is too long.
    #[error("impossible chain of extension headers")]
    ExtensionHeaders,
}
