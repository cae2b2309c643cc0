//! The announcement of sealed data in a handshake: the data index of an end, the ciphers that it
//! takes, and the number from which it counts. A Hello and a Welcome carry the same 16 bytes.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                           Data index                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Suites     |                    Reserved                   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                     First number (64 bits)                    |
//! |                                                               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::bytes::{set_u8_at, set_u32_at, set_u64_at, u8_at, u32_at, u64_at};

/// Bytes of a [`Sealing`] in a Hello or a Welcome.
pub const SEALING_LEN: usize = 16;

const INDEX: usize = 0;
const SUITES: usize = 4;
const FIRST: usize = 8;

/// A cipher that data can be sealed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// AES-256-GCM (NIST SP 800-38D). Fast only where the processor has instructions for it.
    Aes256Gcm,
    /// ChaCha20-Poly1305 (RFC 8439). Every end that seals has it.
    ChaCha20Poly1305,
}

impl Suite {
    /// The bit of [`Suites`], which is also the number of the suite in the derivation of keys.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Suite::Aes256Gcm => 1,
            Suite::ChaCha20Poly1305 => 2,
        }
    }

    /// The name as people know it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Suite::Aes256Gcm => "AES-256-GCM",
            Suite::ChaCha20Poly1305 => "ChaCha20-Poly1305",
        }
    }
}

/// A set of suites. Bits without a meaning are kept and never agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Suites(pub u8);

impl Suites {
    /// The suites of an end whose processor computes AES and GHASH in hardware.
    pub const WITH_AES: Suites = Suites(Suite::Aes256Gcm.code() | Suite::ChaCha20Poly1305.code());
    /// The suites of every other end.
    pub const WITHOUT_AES: Suites = Suites(Suite::ChaCha20Poly1305.code());

    /// A set of one suite.
    #[must_use]
    pub const fn only(suite: Suite) -> Self {
        Self(suite.code())
    }

    /// Returns true if the suite is in the set.
    #[must_use]
    pub const fn has(self, suite: Suite) -> bool {
        self.0 & suite.code() != 0
    }

    /// Returns the suite that two ends with these sets use: AES-256-GCM where both have it,
    /// otherwise ChaCha20-Poly1305; `None` where they have none in common.
    #[must_use]
    pub const fn agree(self, other: Self) -> Option<Suite> {
        let both = Self(self.0 & other.0);
        if both.has(Suite::Aes256Gcm) {
            Some(Suite::Aes256Gcm)
        } else if both.has(Suite::ChaCha20Poly1305) {
            Some(Suite::ChaCha20Poly1305)
        } else {
            None
        }
    }
}

/// The declaration of one end about the sealed data that it wants to receive and is going to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealing {
    /// The GRE key of the sealed packets for this end under the keys of this handshake.
    pub index: u32,
    /// In a Hello, the suites that the initiator takes; in a Welcome, the one that is used.
    pub suites: Suites,
    /// The 64-bit number of the next packet that this end sends.
    pub first: u64,
}

impl Sealing {
    pub(super) fn encode(&self, bytes: &mut [u8]) {
        set_u32_at(bytes, INDEX, self.index);
        set_u8_at(bytes, SUITES, self.suites.0);
        set_u64_at(bytes, FIRST, self.first);
    }

    pub(super) fn decode(bytes: &[u8]) -> Self {
        Self {
            index: u32_at(bytes, INDEX),
            suites: Suites(u8_at(bytes, SUITES)),
            first: u64_at(bytes, FIRST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ends_use_aes_only_where_both_have_it() {
        let (with, without) = (Suites::WITH_AES, Suites::WITHOUT_AES);
        assert_eq!(with.agree(with), Some(Suite::Aes256Gcm));
        assert_eq!(with.agree(without), Some(Suite::ChaCha20Poly1305));
        assert_eq!(without.agree(with), Some(Suite::ChaCha20Poly1305));
        assert_eq!(without.agree(without), Some(Suite::ChaCha20Poly1305));
        assert_eq!(Suites(0xfc).agree(Suites(0xff)), None);
        assert_eq!(Suites::default().agree(with), None);
    }

    #[test]
    fn the_bytes_are_those_of_the_picture() {
        let sealing =
            Sealing { index: 0x0102_0304, suites: Suites::WITH_AES, first: 0x1112_1314_1516_1718 };
        let mut bytes = [0; SEALING_LEN];
        sealing.encode(&mut bytes);
        let expected = [1, 2, 3, 4, 3, 0, 0, 0, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18];
        assert_eq!(bytes, expected);
        bytes[5..8].fill(0xff);
        assert_eq!(Sealing::decode(&bytes), sealing, "reserved bytes are ignored");
    }
}
