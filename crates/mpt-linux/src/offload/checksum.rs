//! The Internet checksum's accumulator, tuned for payloads of a kilobyte or more.

/// A ones'-complement sum that is folded late (RFC 1071 section 2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum(u64);

impl Sum {
    pub(super) const fn new() -> Self {
        Sum(0)
    }

    /// Adds one 16-bit word.
    pub(super) const fn add_u16(self, word: u16) -> Self {
        Sum(self.0 + word as u64)
    }

    /// Adds a 32-bit field as its two words.
    pub(super) const fn add_u32(self, value: u32) -> Self {
        self.add_u16((value >> 16) as u16).add_u16(value as u16)
    }

    /// Takes one word out again: in ones' complement, adds its complement.
    pub(super) const fn subtract_u16(self, word: u16) -> Self {
        self.add_u16(!word)
    }

    /// Adds bytes that start at an even offset of what is summed; an odd last byte is padded with zero.
    pub(super) fn add_bytes(self, bytes: &[u8]) -> Self {
        // The sum does not care about byte order as long as all words have the same one (RFC 1071 section 2 B), so it is
        // taken in the machine's and swapped once.
        // Plain loops over arrays: they become vector instructions in every build, chains of iterators only in some.
        let mut lanes = [0u64; 8];
        let (blocks, rest) = bytes.as_chunks::<32>();
        for block in blocks {
            let (words, _) = block.as_chunks::<4>();
            for i in 0..8 {
                lanes[i] += u64::from(u32::from_ne_bytes(words[i]));
            }
        }
        let mut sum: u64 = lanes.iter().sum();
        let (words, rest) = rest.as_chunks::<4>();
        for word in words {
            sum += u64::from(u32::from_ne_bytes(*word));
        }
        let (words, rest) = rest.as_chunks::<2>();
        for word in words {
            sum += u64::from(u16::from_ne_bytes(*word));
        }
        if let [last] = rest {
            sum += u64::from(u16::from_ne_bytes([*last, 0]));
        }
        self.add_u16(u16::from_be(fold(sum)))
    }

    /// The folded sum, not complemented.
    pub(super) const fn fold(self) -> u16 {
        fold(self.0)
    }

    /// The checksum field's value: the complement of the folded sum.
    pub(super) const fn finish(self) -> u16 {
        !fold(self.0)
    }
}

const fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}
