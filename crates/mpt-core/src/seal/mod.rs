//! Sealed data: packets of a connection that are encrypted and authenticated under keys of its
//! session (docs/protocol.md, "Sealed data").
//!
//! [`keys`] derives the keys of both directions from a handshake. A [`Sealer`] seals what this end
//! sends, each number once. [`Openers`] has the keys for what it receives, under the index that a
//! packet carries, and says of each packet whether it is authentic and new. [`tags`] lets a lost packet be
//! sealed again, if it becomes the same bytes. Ciphers and HKDF are those of the crate `ring`.
//!
//! A `Sealer` and an [`Opener`] are made once per handshake and cannot be copied: whoever gives one
//! away has none any more. So under a key no number ever becomes two different packets, and no replay
//! window begins anew under it, whatever becomes of the connection.

mod cipher;
pub(crate) mod keys;
mod nonce;
mod number;
mod opener;
mod openers;
mod sealer;
mod seen;
mod tags;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod timing;
#[cfg(test)]
mod vectors;

pub(crate) use self::number::extend;
pub(crate) use self::opener::{Opened, Opener, Refused};
pub(crate) use self::openers::Openers;
pub(crate) use self::sealer::Sealer;

/// Bytes of the authentication tag behind each sealed packet.
pub(crate) const TAG_LEN: usize = 16;
/// Bytes of the GRE header in front of each sealed packet: with a key and a number.
pub(crate) const HEADER_LEN: usize = 12;

/// The configuration of sealing of a connection's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Seal {
    /// Never.
    #[default]
    Off,
    /// Data is sealed where the peer seals as well. A peer that has sealed once has to go on.
    On,
    /// Always: with a peer that does not seal there is no data.
    Require,
}

impl Seal {
    /// Returns true if this end offers to seal.
    #[must_use]
    pub const fn is_wanted(self) -> bool {
        !matches!(self, Self::Off)
    }
}
