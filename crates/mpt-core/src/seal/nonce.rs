//! Nonces: the IV of the direction, combined with the number of the packet (as in RFC 8446, section
//! 5.3).

use ring::aead::{NONCE_LEN, Nonce};

/// Bytes of an IV.
pub(super) const IV_LEN: usize = NONCE_LEN;

/// The nonce of a number under the key of this IV: another one for each number.
#[inline]
pub(super) fn nonce(iv: &[u8; IV_LEN], number: u64) -> Nonce {
    let mut nonce = *iv;
    for (byte, number) in nonce[IV_LEN - 8..].iter_mut().zip(number.to_be_bytes()) {
        *byte ^= number;
    }
    Nonce::assume_unique_for_key(nonce)
}
