//! The protection of a connection's packets, and the form of a sealed one.

use mpt_wire::gre;

use crate::ConnectionConfig;
use crate::seal::Sealer;

/// Set in the first byte of a sealed inner packet that is to be delivered at once, whatever its
/// number. There it is always 0: the IP versions 4 and 6 begin with 0100 and 0110.
pub(crate) const UNORDERED: u8 = 0x80;

/// The protection of a connection's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// By nothing.
    None,
    /// By a GRE checksum, against errors.
    Checksum,
    /// They are sealed: nothing plain is sent or accepted.
    Sealed,
}

impl Protection {
    /// The configured protection. `plain_peer` is true if the peer does not seal and is allowed not
    /// to.
    pub(super) fn new(config: &ConnectionConfig, plain_peer: bool) -> Self {
        match (config.seal.is_wanted() && !plain_peer, config.checksum) {
            (true, _) => Self::Sealed,
            (false, true) => Self::Checksum,
            (false, false) => Self::None,
        }
    }
}

/// Returns the GRE header of sealed packets for the peer with this data index.
pub(crate) const fn sealed_header(index: u32) -> gre::Template {
    let protocol = gre::Protocol::SEALED;
    gre::Template { protocol, checksum: false, key: Some(index), numbered: true }
}

/// Returns true if the next packets may be sent: they are not sealed, or there are keys for them.
#[inline]
pub(super) fn can_number(
    protection: Protection,
    sealer: &Option<Box<Sealer>>,
    sequence: u32,
    packets: u16,
) -> bool {
    protection != Protection::Sealed
        || sealer.as_ref().is_some_and(|sealer| sealer.has_room(sequence, packets))
}

/// Takes the mark of an opened packet away that it is delivered at once. Returns whether it was there.
#[inline]
pub(super) fn take_unordered(inner: &mut [u8]) -> bool {
    let Some(first) = inner.first_mut() else { return false };
    let unordered = *first & UNORDERED != 0;
    *first &= !UNORDERED;
    unordered
}
