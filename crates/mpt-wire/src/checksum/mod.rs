//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

mod carry;
mod vector;
mod words;

use std::net::{Ipv4Addr, Ipv6Addr};

use self::carry::{add_with_carry, fold};

/// A ones'-complement sum under way, folded late.
///
/// Pieces are added in the order they stand in the packet and may have any length: the sum knows
/// whether it has seen an odd number of bytes, so that scattered pieces give what the same bytes
/// in one piece give.
///
/// ```
/// use mpt_wire::checksum::Sum;
/// let mut scattered = Sum::new();
/// scattered.add_bytes(&[0x12]);
/// scattered.add_bytes(&[0x34, 0x56, 0x78]);
/// assert_eq!(scattered.finish(), !(0x1234 + 0x5678));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    /// Congruent, modulo 0xffff, to the sum of all words read in the machine's own byte order. The
    /// sum is the same in either byte order up to one swap at the end (RFC 1071 section 2 B).
    native: u64,
    /// The next byte is the second of its word.
    odd: bool,
}

impl Sum {
    /// The sum of no bytes.
    #[inline]
    pub const fn new() -> Self {
        Self { native: 0, odd: false }
    }

    /// Adds the next bytes of the packet.
    #[inline]
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.append(sum_native(bytes), bytes.len() % 2 == 1);
    }

    /// Adds the next 16-bit field of the packet.
    #[inline]
    pub fn add_u16(&mut self, word: u16) {
        self.append(u64::from(word.to_be()), false);
    }

    /// Adds the next 32-bit field of the packet.
    #[inline]
    pub fn add_u32(&mut self, value: u32) {
        self.append(u64::from(value.to_be()), false);
    }

    /// Appends what `next` has summed: its first byte follows the last one of this sum.
    #[inline]
    pub fn combine(&mut self, next: Sum) {
        self.append(next.native, next.odd);
    }

    /// The folded sum, not complemented. A packet summed together with its own checksum field (and
    /// pseudo-header) is intact if this is 0xffff.
    #[inline]
    pub const fn fold(self) -> u16 {
        u16::from_be(fold(self.native))
    }

    /// The value of the checksum field: the complement of the folded sum.
    ///
    /// UDP writes 0xffff where this is 0, since 0 there means "no checksum" (RFC 768).
    #[inline]
    pub const fn finish(self) -> u16 {
        !self.fold()
    }

    #[inline]
    fn append(&mut self, native: u64, odd: bool) {
        // A piece that starts at an odd offset has its bytes in the other half of each word, and
        // swapping the halves commutes with the addition (RFC 1071 section 2 B).
        let native = if self.odd { u64::from(fold(native).swap_bytes()) } else { native };
        self.native = add_with_carry(self.native, native);
        self.odd ^= odd;
    }
}

/// The IPv4 pseudo-header of TCP (RFC 9293 section 3.1) and UDP (RFC 768). `len` is that of the
/// transport header and its payload, in bytes.
#[inline]
pub fn pseudo_header_v4(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, len: u16) -> Sum {
    let mut sum = Sum::new();
    sum.add_u32(source.into());
    sum.add_u32(destination.into());
    sum.add_u16(protocol.into());
    sum.add_u16(len);
    sum
}

/// The IPv6 pseudo-header (RFC 8200 section 8.1). `len` is that of the upper-layer header and its
/// payload, in bytes.
#[inline]
pub fn pseudo_header_v6(source: Ipv6Addr, destination: Ipv6Addr, protocol: u8, len: u32) -> Sum {
    let mut sum = Sum::new();
    sum.add_bytes(&source.octets());
    sum.add_bytes(&destination.octets());
    sum.add_u32(len);
    sum.add_u32(protocol.into());
    sum
}

/// The checksum field after one 16-bit word of what it covers has changed from `old` to `new`
/// (RFC 1624 section 3, equation 3).
///
/// For a field at an odd offset both values have to be byte-swapped.
#[inline]
pub const fn update16(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(!checksum as u64 + !old as u64 + new as u64)
}

/// The sum of the bytes as words in native byte order; an odd last byte is padded with zero.
#[inline]
fn sum_native(bytes: &[u8]) -> u64 {
    if bytes.len() < vector::STEP {
        return words::sum(bytes);
    }
    vector::sum(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071 section 4.1, word by word.
    fn naive(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for word in bytes.chunks(2) {
            sum += u32::from(word[0]) << 8 | word.get(1).map_or(0, |&low| u32::from(low));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    fn sum(bytes: &[u8]) -> Sum {
        let mut sum = Sum::new();
        sum.add_bytes(bytes);
        sum
    }

    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(sum(&bytes).fold(), 0xddf2);
        assert_eq!(sum(&bytes).finish(), 0x220d);
    }

    #[test]
    fn the_example_of_rfc_1624() {
        // Section 4: equation 2 would give 0xffff here.
        assert_eq!(update16(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn nothing_carries_too_far() {
        // 64 KB and more of the largest words.
        for len in [65_535, 65_536, 1 << 20] {
            let bytes = vec![0xff; len];
            assert_eq!(sum(&bytes).finish(), naive(&bytes), "{len} bytes");
        }
        let mut full = Sum { native: u64::MAX, odd: false };
        full.add_bytes(&[0x00, 0x01]);
        assert_eq!(full.fold(), 1);
    }

    #[test]
    fn every_length_up_to_some_chunks() {
        let bytes: Vec<u8> = (0..300u32).map(|i| (i * 151 + 7) as u8).collect();
        for len in 0..bytes.len() {
            for start in 0..3.min(len) {
                let bytes = &bytes[start..len];
                assert_eq!(sum(bytes).finish(), naive(bytes), "{start}..{len}");
            }
        }
    }

    proptest! {
        #[test]
        fn scattered_pieces_sum_like_one(
            bytes in prop::collection::vec(any::<u8>(), 0..4096),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let (mut added, mut combined) = (Sum::new(), Sum::new());
            for piece in cuts.windows(2) {
                let piece = &bytes[piece[0]..piece[1]];
                added.add_bytes(piece);
                combined.combine(sum(piece));
            }
            prop_assert_eq!(added.finish(), naive(&bytes));
            prop_assert_eq!(combined.finish(), naive(&bytes));
        }

        #[test]
        fn words_are_bytes(odd in any::<bool>(), word in any::<u16>(), long in any::<u32>()) {
            let mut bytes = vec![0xa5; odd.into()];
            let mut sum = sum(&bytes);
            sum.add_u16(word);
            sum.add_u32(long);
            bytes.extend(word.to_be_bytes());
            bytes.extend(long.to_be_bytes());
            prop_assert_eq!(sum.finish(), naive(&bytes));
        }

        #[test]
        fn an_update_leaves_the_packet_intact(
            words in prop::collection::vec(any::<[u8; 2]>(), 1..64),
            at in any::<prop::sample::Index>(),
            new in any::<u16>(),
        ) {
            let mut bytes = words.into_flattened();
            let before = naive(&bytes);
            let at = at.index(bytes.len() - 1);
            let swap = |word: u16| if at % 2 == 1 { word.swap_bytes() } else { word };
            let old = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
            bytes[at..at + 2].copy_from_slice(&new.to_be_bytes());
            let updated = update16(before, swap(old), swap(new));
            // Verified as a receiver does, since 0 and 0xffff are the same number.
            let mut with_checksum = sum(&bytes);
            with_checksum.add_u16(updated);
            prop_assert_eq!(with_checksum.fold(), 0xffff);
        }
    }
}
