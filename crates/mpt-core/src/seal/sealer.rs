//! Sealing what this end sends under the keys of one handshake.

use std::cell::{Cell, RefCell};

use mpt_wire::control::Suite;

use super::cipher::Cipher;
use super::number::{LAST, extend};
use super::tags::Tags;
use super::{HEADER_LEN, TAG_LEN};

/// Packets sealed under one key, at most. With packets of 1,500 bytes, an attacker tells AES-256-GCM
/// from an ideal cipher with a probability below 2^-60 then; RFC 8446, section 5.5, stops at 2^-57.
const MOST: u64 = 1 << 27;
/// Packets sealed under one key after which new keys are asked for, so that they are there in time.
const REKEY_AFTER: u64 = MOST / 2;

/// Seals packets in ascending order of their numbers. A number is sealed again only to the bytes that it
/// was sealed to before, and only while the tag of these is kept.
#[derive(Debug)]
pub(crate) struct Sealer {
    cipher: Cipher,
    suite: Suite,
    /// The data index by which the peer finds its keys.
    index: u32,
    /// No number below it is sealed any more.
    next: Cell<u64>,
    /// No number from here on is sealed.
    end: Cell<u64>,
    /// A first packet was sealed, so that `end` does not move any more.
    used: Cell<bool>,
    /// The tags of packets that may have to be sent again.
    tags: RefCell<Tags>,
    /// Packets that were not sealed again, since they were others than before.
    differing: Cell<u64>,
}

impl Sealer {
    /// A sealer for numbers from `first` on.
    pub(super) fn new(cipher: Cipher, suite: Suite, index: u32, first: u64) -> Self {
        let end = first.saturating_add(MOST).min(LAST);
        let (next, end) = (Cell::new(first), Cell::new(end));
        let (used, tags, differing) = (Cell::new(false), RefCell::default(), Cell::new(0));
        Self { cipher, suite, index, next, end, used, tags, differing }
    }

    /// The GRE key of what is sealed.
    #[inline]
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// The suite.
    pub(crate) fn suite(&self) -> Suite {
        self.suite
    }

    /// The number that has these lower 32 bits.
    pub(crate) fn number_of(&self, sequence: u32) -> u64 {
        extend(self.next.get(), sequence)
    }

    /// Before the first packet: begins with the number that has these lower 32 bits, and counts the
    /// packets from there. Returns false, and seals nothing, if that number is below the one that was
    /// said in the handshake.
    #[must_use]
    pub(crate) fn skip_to(&self, sequence: u32) -> bool {
        let (first, number) = (self.next.get(), self.number_of(sequence));
        let fits = !self.used.get() && number >= first;
        self.next.set(number.max(first));
        self.end.set(if fits { number.saturating_add(MOST).min(LAST) } else { 0 });
        fits
    }

    /// Returns true if `count` packets can be sealed that have `sequence` and the following ones as
    /// the lower halves of their numbers.
    #[inline]
    pub(crate) fn has_room(&self, sequence: u32, count: u16) -> bool {
        let number = extend(self.next.get(), sequence);
        number >= self.next.get() && number.saturating_add(count.into()) <= self.end.get()
    }

    /// Returns true if new keys are to be asked for.
    #[inline]
    pub(crate) fn is_worn(&self) -> bool {
        self.end.get().saturating_sub(self.next.get()) <= MOST - REKEY_AFTER
    }

    /// Returns true if the packet with this number may be sealed again: its tag is kept.
    pub(crate) fn can_repeat(&self, sequence: u32) -> bool {
        self.tags.borrow().find(self.number_of(sequence)).is_some()
    }

    /// Returns how many packets were not sealed again since the last call, because they were others than
    /// before.
    pub(crate) fn take_differing(&self) -> u64 {
        self.differing.take()
    }

    /// Seals a datagram: a GRE header of [`HEADER_LEN`] bytes, the plaintext, and room for the tag.
    /// `sequence` is the number in the header. Packets from the number `kept_from` on may have to be
    /// sealed again; with `None` none may, and nothing is kept for it.
    ///
    /// A number below the highest one becomes the same datagram as before, if its tag is kept.
    ///
    /// Returns false if the datagram must not be sent, and has no meaning: it is another one than was
    /// sealed under this number, that number or a higher one was before and its tag is not kept, or the
    /// keys are used up.
    #[inline]
    #[must_use]
    pub(crate) fn seal(&self, sequence: u32, kept_from: Option<u32>, datagram: &mut [u8]) -> bool {
        let next = self.next.get();
        let number = extend(next, sequence);
        if number < next {
            return self.seal_again(number, datagram);
        }
        if number >= self.end.get() {
            return false;
        }
        let Some((header, body)) = datagram.split_at_mut_checked(HEADER_LEN) else { return false };
        self.next.set(number + 1);
        self.used.set(true);
        let sealed = self.cipher.seal(number, header, body);
        let mut tags = self.tags.borrow_mut();
        match (kept_from, body.last_chunk::<TAG_LEN>()) {
            (None, _) => tags.clear(),
            (Some(from), Some(tag)) if sealed => tags.keep(number, *tag, extend(number, from)),
            _ => {}
        }
        sealed
    }

    /// Seals what was sealed before under this number. A datagram that becomes another one is overwritten, so that it can never leave this host.
    #[cold]
    fn seal_again(&self, number: u64, datagram: &mut [u8]) -> bool {
        let Some(tag) = self.tags.borrow().find(number) else { return false };
        let Some((header, body)) = datagram.split_at_mut_checked(HEADER_LEN) else { return false };
        let same = self.cipher.seal(number, header, body) && body.ends_with(&tag);
        if !same {
            body.fill(0);
            self.differing.set(self.differing.get() + 1);
        }
        same
    }
}
