//! The keyed hashes around the Noise handshake: mac1, which shows that the sender knows whom it
//! speaks to, mac2, which shows that it receives at its address, and the keys of both.
//!
//! All of it is BLAKE2s (RFC 7693). The scheme is that of WireGuard (section 5.4.4 of its paper).

use blake2::digest::consts::U16;
use blake2::digest::{Digest, FixedOutput, KeyInit, Update};
use blake2::{Blake2s256, Blake2sMac};
use subtle::ConstantTimeEq;

use crate::session::keys::PublicKey;

/// The length of mac1, mac2 and a cookie, bytes.
pub(in crate::session) const MAC_LEN: usize = 16;

/// The text from which the key of mac1 is derived, together with the public key of the receiver of the frame.
const MAC1_LABEL: &[u8] = b"mpt mac1";
/// The text from which the key that seals cookies is derived, together with the public key of the responder.
const COOKIE_LABEL: &[u8] = b"mpt cookie";

/// Returns the key of mac1 in frames for the owner of `recipient`. No secret: it keeps away those
/// who do not even know the public key.
pub(in crate::session) fn mac1_key(recipient: &PublicKey) -> [u8; 32] {
    labelled(MAC1_LABEL, recipient)
}

/// Returns the key that `responder` seals its cookies with.
pub(in crate::session) fn cookie_key(responder: &PublicKey) -> [u8; 32] {
    labelled(COOKIE_LABEL, responder)
}

fn labelled(label: &[u8], key: &PublicKey) -> [u8; 32] {
    Blake2s256::new().chain_update(label).chain_update(key.as_bytes()).finalize().into()
}

/// BLAKE2s-128 of `parts`, one after the other, keyed with the 16 or 32 bytes of `key`.
pub(in crate::session) fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; MAC_LEN] {
    let mut hash =
        Blake2sMac::<U16>::new_from_slice(key).expect("no key here is longer than 32 bytes");
    for part in parts {
        Update::update(&mut hash, part);
    }
    hash.finalize_fixed().into()
}

/// Returns true if two authenticators are the same, in a time that does not depend on their bytes.
pub(in crate::session) fn equal(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    // All of these were computed with Python's hashlib.blake2s, so that nothing but RFC 7693 and
    // the labels decides them.

    #[test]
    fn keys_stay_what_they_are() {
        let key = PublicKey::from([7; 32]);
        assert_eq!(mac1_key(&key), MAC1_KEY_OF_SEVENS);
        assert_eq!(cookie_key(&key), COOKIE_KEY_OF_SEVENS);
    }

    #[test]
    fn macs_stay_what_they_are() {
        assert_eq!(mac(&[1; 32], &[b"frame"]), MAC_LONG_KEY);
        assert_eq!(mac(&[1; 16], &[b"fra", b"", b"me"]), MAC_SHORT_KEY);
    }

    #[test]
    fn only_the_same_bytes_are_equal() {
        assert!(equal(&[1, 2, 3], &[1, 2, 3]));
        assert!(!equal(&[1, 2, 3], &[1, 2, 2]));
        assert!(!equal(&[1, 2, 3], &[1, 2]));
    }

    #[rustfmt::skip]
    const MAC1_KEY_OF_SEVENS: [u8; 32] = [
        0x3d, 0xeb, 0x74, 0xaf, 0x39, 0xc4, 0xc4, 0x00, 0x2d, 0x46, 0xe2, 0x17, 0x68, 0xba, 0x23, 0xe5,
        0xb0, 0xa5, 0x30, 0x58, 0x5a, 0xec, 0x28, 0x82, 0x19, 0x25, 0x35, 0xe4, 0xb5, 0x8a, 0xcf, 0x11,
    ];
    #[rustfmt::skip]
    const COOKIE_KEY_OF_SEVENS: [u8; 32] = [
        0x1a, 0xda, 0xd1, 0x55, 0xba, 0x82, 0x95, 0x6c, 0x82, 0x84, 0x94, 0xe2, 0x81, 0x48, 0xd5, 0x1b,
        0xe5, 0x20, 0xd3, 0xb2, 0x99, 0xe0, 0x6d, 0x5f, 0xa7, 0xe7, 0xbd, 0x56, 0xbc, 0x0a, 0x85, 0x59,
    ];
    #[rustfmt::skip]
    const MAC_LONG_KEY: [u8; 16] = [
        0xf1, 0x36, 0x3e, 0x1b, 0x70, 0x7b, 0xd6, 0x65, 0xe9, 0x82, 0xac, 0xf6, 0x82, 0x29, 0x14, 0x79,
    ];
    #[rustfmt::skip]
    const MAC_SHORT_KEY: [u8; 16] = [
        0xbc, 0x36, 0x4f, 0x22, 0x78, 0xa2, 0x4a, 0x2b, 0x59, 0xfa, 0x68, 0x36, 0x3d, 0x53, 0xef, 0xba,
    ];
}
