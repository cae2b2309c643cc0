//! The cipher of the handshake and of the frames after it: ChaCha20-Poly1305 (RFC 8439) by `ring`, with
//! nonces as Noise makes them (the Noise Protocol Framework, section 12.3).

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, Tag, UnboundKey};
use snow::error::Error;
use snow::types::Cipher;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::seal::TAG_LEN;
use crate::session::keys::KEY_LEN;

/// A key of ChaCha20-Poly1305, wiped when dropped.
///
/// `ring`'s form of it takes half a kilobyte, and every session has several keys. It is made for each
/// frame anew, which takes less time than it would take to fetch it from memory.
#[derive(Default, ZeroizeOnDrop)]
pub(super) struct ChaChaPoly {
    key: [u8; KEY_LEN],
}

impl ChaChaPoly {
    fn key(&self) -> Option<LessSafeKey> {
        // Every key of this length is one.
        UnboundKey::new(&CHACHA20_POLY1305, &self.key).ok().map(LessSafeKey::new)
    }

    fn seal(
        &self,
        number: u64,
        header: &[u8],
        plaintext: &[u8],
        body: &mut [u8],
    ) -> Option<[u8; TAG_LEN]> {
        body.copy_from_slice(plaintext);
        let sealed = self.key()?.seal_in_place_separate_tag(nonce(number), Aad::from(header), body);
        sealed.ok()?.as_ref().try_into().ok()
    }
}

fn nonce(number: u64) -> Nonce {
    let mut nonce = [0; 12];
    if let Some(low) = nonce.last_chunk_mut() {
        *low = number.to_le_bytes();
    }
    Nonce::assume_unique_for_key(nonce)
}

impl Cipher for ChaChaPoly {
    fn name(&self) -> &'static str {
        "ChaChaPoly"
    }

    fn set(&mut self, key: &[u8; KEY_LEN]) {
        self.key = *key;
    }

    /// Writes nothing but zeros, and returns 0, where `out` is too short for the ciphertext and its tag.
    fn encrypt(&self, nonce: u64, authtext: &[u8], plaintext: &[u8], out: &mut [u8]) -> usize {
        if let Some((body, rest)) = out.split_at_mut_checked(plaintext.len())
            && let Some(room) = rest.first_chunk_mut()
            && let Some(tag) = self.seal(nonce, authtext, plaintext, body)
        {
            *room = tag;
            return plaintext.len() + TAG_LEN;
        }
        // No plaintext may be left there.
        out.zeroize();
        0
    }

    fn decrypt(
        &self,
        number: u64,
        authtext: &[u8],
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let (body, tag) = ciphertext.split_last_chunk::<TAG_LEN>().ok_or(Error::Decrypt)?;
        let out = out.get_mut(..body.len()).ok_or(Error::Decrypt)?;
        out.copy_from_slice(body);
        let key = self.key().ok_or(Error::Decrypt)?;
        let header = Aad::from(authtext);
        key.open_in_place_separate_tag(nonce(number), header, Tag::from(*tag), out, 0..)
            .map_err(|_| Error::Decrypt)?;
        Ok(body.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vector of Noise's ChaChaPoly: RFC 8439, section 2.8.2, has another form of nonce, so this one is by an independent implementation
    /// (Python's `cryptography`): `ChaCha20Poly1305(bytes(range(32))).encrypt(bytes(4) + (5).to_bytes(8, "little"), b"multipath", b"head")`.
    const SEALED: [u8; 25] = [
        0x4e, 0x7d, 0xfa, 0x7e, 0x2c, 0x55, 0x26, 0x4a, 0xe3, 0x36, 0xc1, 0x56, 0x1a, 0x19, 0x89,
        0x5a, 0xee, 0x95, 0xa9, 0x40, 0x02, 0xce, 0xad, 0x23, 0x4d,
    ];

    fn cipher() -> ChaChaPoly {
        let mut cipher = ChaChaPoly::default();
        cipher.set(&std::array::from_fn(|place| place as u8));
        cipher
    }

    #[test]
    fn an_independent_implementation_makes_the_same_bytes() {
        let mut out = [0xff; 9 + TAG_LEN];
        assert_eq!(cipher().encrypt(5, b"head", b"multipath", &mut out), out.len());
        assert_eq!(out, SEALED);
    }

    #[test]
    fn only_the_same_bytes_under_the_same_number_are_opened() {
        let mut out = [0; 9];
        assert_eq!(cipher().decrypt(5, b"head", &SEALED, &mut out).unwrap(), 9);
        assert_eq!(&out, b"multipath");
        for place in 0..SEALED.len() {
            let mut altered = SEALED;
            altered[place] ^= 1;
            assert!(cipher().decrypt(5, b"head", &altered, &mut out).is_err(), "byte {place}");
        }
        assert!(cipher().decrypt(6, b"head", &SEALED, &mut out).is_err());
        assert!(cipher().decrypt(5, b"tail", &SEALED, &mut out).is_err());
        assert!(cipher().decrypt(5, b"head", &SEALED[..TAG_LEN - 1], &mut out).is_err());
        assert!(cipher().decrypt(5, b"head", &SEALED, &mut out[..8]).is_err());
    }

    #[test]
    fn without_room_no_plaintext_is_left_behind() {
        let mut out = [0xff; 9 + TAG_LEN - 1];
        assert_eq!(cipher().encrypt(5, b"head", b"multipath", &mut out), 0);
        assert_eq!(out, [0; 9 + TAG_LEN - 1]);
    }
}
