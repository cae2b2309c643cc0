//! The prototype's authentication of commands: a nonce of the responder, and a digest with the key
//! at its end.

use std::fmt;

use mpt_wire::compat::command::{DIGEST_AT, DIGEST_LEN};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes of a key that count.
pub const KEY_LEN: usize = 32;
/// The key of a prototype that was not given one: known to everybody.
const DEFAULT_KEY: &[u8; KEY_LEN] = b"A0A1A2A3A4A5A6A7A8A9AAABACADAEAF";

/// A key, as the prototype uses it: the first 32 characters of its text, hexadecimal digits or not,
/// with zeros behind a shorter one.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Key([u8; KEY_LEN]);

impl Key {
    /// The key of this text; `None` if it is empty or not of printable ASCII.
    pub fn from_text(text: &str) -> Option<Self> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let mut key = [0; KEY_LEN];
        let len = text.len().min(KEY_LEN);
        key[..len].copy_from_slice(&text.as_bytes()[..len]);
        Some(Self(key))
    }

    /// The key built into the prototype. It keeps nobody out.
    pub fn built_in() -> Self {
        Self(*DEFAULT_KEY)
    }

    /// Puts the digest of a message into it. The message has room for one.
    pub(super) fn sign(&self, message: &mut [u8]) {
        let digest = self.digest(message);
        message[DIGEST_AT..DIGEST_AT + DIGEST_LEN].copy_from_slice(&digest);
    }

    /// True if a message that has a digest has the right one.
    pub(super) fn signed(&self, message: &[u8]) -> bool {
        let found = &message[DIGEST_AT..DIGEST_AT + DIGEST_LEN];
        self.digest(message).ct_eq(found).into()
    }

    fn digest(&self, message: &[u8]) -> [u8; DIGEST_LEN] {
        Sha256::new()
            .chain_update(&message[..DIGEST_AT])
            .chain_update([0; DIGEST_LEN])
            .chain_update(&message[DIGEST_AT + DIGEST_LEN..])
            .chain_update(self.0)
            .finalize()
            .into()
    }
}

/// The comparison takes a time that does not depend on the keys.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Key {}

/// Says nothing of the key.
impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(..)")
    }
}

/// The authentication of a connection's commands, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Authentication {
    /// Commands are not authenticated (type 0).
    #[default]
    None,
    /// By a nonce (type 1): who cannot see the answers cannot command.
    Nonce,
    /// By a nonce and a digest (type 2): who has not the key cannot command.
    Digest(Key),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange that was captured from the prototype, all four rounds.
    #[test]
    fn captured_digests_are_right() {
        let text = "00112233445566778899AABBCCDDEEFF0123456789ABCDEF0123456789ABCDEF";
        let key = Key::from_text(text).unwrap();
        let ends = "00000000000000000000ffff0a00000200000000000000000000ffff0a000003";
        let path = "00000000000000000000ffff0a01010200000000000000000000ffff0a010103";
        let rounds = [
            (
                "80",
                "00000000",
                1,
                "20000000",
                "3026133bc9f7b0e18e5d13860f922e8c712d2a3fc5cb2732d41aceb30c917d72",
            ),
            (
                "00",
                "b7ba7151",
                2,
                "20000000",
                "ff43bac13ddfcdf72b68868934bb87689c06281607ecf90c6c870d2500f1006f",
            ),
            (
                "80",
                "b7ba7151",
                3,
                path,
                "b5bc99cf38cb3453c7c13cf054eb1c9df45f9564edbbcf5bfda2dfbe6a686546",
            ),
            (
                "00",
                "b7ba7151",
                4,
                "",
                "b9963a625df6c66f5539d2362916bab3e294a213d83b7fad6cb3074c749486f9",
            ),
        ];
        for (argument, nonce, round, payload, digest) in rounds {
            let message = format!("a2{argument}0224{nonce}{digest}0{round}040000{ends}{payload}");
            let bytes = bytes(&message);
            assert!(key.signed(&bytes), "round {round}");
            let mut again = bytes.clone();
            again[DIGEST_AT..DIGEST_AT + DIGEST_LEN].fill(0x77);
            key.sign(&mut again);
            assert_eq!(again, bytes);
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                assert!(!key.signed(&changed), "round {round}, byte {at}");
            }
        }
    }

    /// The first round of a creation, captured with the same key.
    #[test]
    fn the_captured_digests_of_a_creation_are_right() {
        let key = Key::from_text("00112233445566778899AABBCCDDEEFF").unwrap();
        let ends = "00000000000000000000ffff0a00000200000000000000000000ffff0a000003";
        for (argument, round, digest) in [
            ("00", 1, "7137f022e7b6e701aa106bdf6144aaf32ec3d166cc7a0544a0d25392593c9259"),
            ("00", 2, "ca45e7fcc74af32bc2131522870847f049e4488222e2f6e79639856313627fa4"),
        ] {
            let message = format!("a3{argument}022400000000{digest}0{round}040000{ends}71040000");
            assert!(key.signed(&bytes(&message)), "round {round}");
        }
    }

    #[test]
    fn a_key_is_the_first_32_characters_of_its_text() {
        let long = "A0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBF";
        assert_eq!(Key::from_text(long), Some(Key::built_in()));
        assert_ne!(Key::from_text("a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"), Some(Key::built_in()));
        assert_ne!(Key::from_text("x"), Key::from_text("x0"));
        for none in ["", "two words", "line\n", "\u{e9}"] {
            assert_eq!(Key::from_text(none), None);
        }
        assert_eq!(format!("{:?}", Key::built_in()), "Key(..)");
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(byte).collect()
    }
}
