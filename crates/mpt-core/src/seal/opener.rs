//! Opening what the peer sent under the keys of one handshake, each packet once.

use super::cipher::Cipher;
use super::number::{LAST, extend};
use super::seen::Seen;
use super::{HEADER_LEN, TAG_LEN};

/// Why a sealed packet was not accepted. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is a repetition of a packet that was accepted, or too old to tell.
    Replayed,
    /// It was not sealed by the peer with the same keys, or was changed on the way.
    Unopened,
}

/// An authentic packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    /// The length of GRE header and plaintext.
    pub(crate) len: usize,
    /// Another path has brought the same packet before: this one says something about its path, and
    /// is delivered to nobody.
    pub(crate) copy: bool,
}

/// The keys for what comes in under one data index, with what was seen.
#[derive(Debug)]
pub(crate) struct Opener {
    cipher: Cipher,
    index: u32,
    /// The highest authentic number, or the one from which the peer counts.
    highest: u64,
    /// Made with the first authentic packet: keys without data need no 8 KB.
    seen: Option<Box<Seen>>,
}

impl Opener {
    /// An opener for the packets of a peer that counts from `first`.
    pub(super) fn new(cipher: Cipher, index: u32, first: u64) -> Self {
        Self { cipher, index, highest: first, seen: None }
    }

    /// Returns what the packets carry as their GRE key.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Opens a datagram in place that came on the path in this slot: a GRE header of [`HEADER_LEN`]
    /// bytes with this number, ciphertext and tag.
    ///
    /// # Errors
    ///
    /// [`Refused`]. The bytes behind the header then have no meaning.
    #[inline]
    pub(crate) fn open(
        &mut self,
        sequence: u32,
        slot: u16,
        datagram: &mut [u8],
    ) -> Result<Opened, Refused> {
        let number = extend(self.highest, sequence);
        let len = datagram.len().checked_sub(TAG_LEN).ok_or(Refused::Unopened)?;
        let (header, body) = datagram.split_at_mut_checked(HEADER_LEN).ok_or(Refused::Unopened)?;
        if number > LAST || !self.seen.as_ref().is_none_or(|seen| seen.is_new(number, slot)) {
            return Err(Refused::Replayed);
        }
        if !self.cipher.open(number, header, body) {
            return Err(Refused::Unopened);
        }
        let copy = !self.seen.get_or_insert_default().insert(number, slot);
        self.highest = self.highest.max(number);
        Ok(Opened { len, copy })
    }
}
