//! A suite with its key and its IV.

use std::fmt;

use mpt_wire::control::Suite;
use ring::aead::{AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, UnboundKey};
use zeroize::zeroize_stack;

use super::TAG_LEN;
use super::nonce::{IV_LEN, nonce};
use crate::session::keys::erase::STACK;

/// Bytes of a key, of either suite.
pub(super) const KEY_LEN: usize = 32;

/// The key of one direction.
///
/// `ring` does not wipe keys. They are on the heap, always in a `Box`: a program that has secrets to
/// keep uses an allocator that overwrites what is freed, as the daemon does.
pub(super) struct Cipher {
    key: LessSafeKey,
    iv: [u8; IV_LEN],
}

impl Cipher {
    pub(super) fn new(suite: Suite, key: &[u8; KEY_LEN], iv: [u8; IV_LEN]) -> Option<Self> {
        let algorithm = match suite {
            Suite::Aes256Gcm => &AES_256_GCM,
            Suite::ChaCha20Poly1305 => &CHACHA20_POLY1305,
        };
        // The length is right for both, so that there always is one.
        let key = UnboundKey::new(algorithm, key).ok()?;
        Some(Self { key: LessSafeKey::new(key), iv })
    }

    /// Encrypts `body` but for its last [`TAG_LEN`] bytes, which become the tag over `header` and the
    /// rest. Returns false, with `body` meaningless, if it is too short or too long for the cipher.
    #[inline]
    pub(super) fn seal(&self, number: u64, header: &[u8], body: &mut [u8]) -> bool {
        let Some(len) = body.len().checked_sub(TAG_LEN) else { return false };
        let (plain, tag) = body.split_at_mut(len);
        let nonce = nonce(&self.iv, number);
        match self.key.seal_in_place_separate_tag(nonce, Aad::from(header), plain) {
            Ok(made) => {
                tag.copy_from_slice(made.as_ref());
                true
            }
            Err(_) => false,
        }
    }

    /// Decrypts `body`, ciphertext and tag, in place. Returns false, with `body` meaningless, if it is
    /// not authentic.
    #[inline]
    pub(super) fn open(&self, number: u64, header: &[u8], body: &mut [u8]) -> bool {
        let nonce = nonce(&self.iv, number);
        self.key.open_in_place(nonce, Aad::from(header), body).is_ok()
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        // The last packet that was sealed or opened has left traces of the key there.
        zeroize_stack::<STACK>();
    }
}

/// Shows no key.
impl fmt::Debug for Cipher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Cipher").finish_non_exhaustive()
    }
}
