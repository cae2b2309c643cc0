//! The missing numbers of which there are more than a Missing has ranges for, one bit for each.

use super::feedback::MissingEntry;
use crate::bytes::u32_at;

/// The first number of a map, before its bits.
pub(super) const HEAD_LEN: usize = 4;
/// The most bytes of bits in a map.
pub const MAX_MAP_LEN: usize = 192;

/// The missing numbers behind those of a [`Missing`](super::Message::Missing).
///
/// Where packets of one path are lost between those of another, each is a range of its own, and
/// takes 48 times as long in a Missing as the bit that it takes here.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                         First number                          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  for each number from the first one on: 1 if it is missing    ~
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingMap<'a> {
    /// The number of the first bit.
    pub first: u32,
    /// The bits, the most significant one of each byte first: from 1 to [`MAX_MAP_LEN`] bytes.
    pub(super) bits: &'a [u8],
}

impl<'a> MissingMap<'a> {
    /// Returns the map in the body of a message, or `None` if that has no bits or too many.
    pub(super) fn parse(body: &'a [u8]) -> Option<Self> {
        let (head, bits) = body.split_first_chunk::<HEAD_LEN>()?;
        let fits = (1..=MAX_MAP_LEN).contains(&bits.len());
        fits.then(|| Self { first: u32_at(head, 0), bits })
    }

    /// Returns true if nothing else is missing up to the highest number that has come: a map that
    /// leaves something out has all its bytes.
    pub fn is_complete(&self) -> bool {
        self.bits.len() < MAX_MAP_LEN
    }

    /// Returns the missing numbers as ranges in ascending order.
    pub fn ranges(&self) -> impl Iterator<Item = MissingEntry> + use<'a> {
        let Self { first, bits } = *self;
        let mut place = 0;
        std::iter::from_fn(move || {
            let start = (place..end(bits)).find(|&bit| is_set(bits, bit))?;
            let behind = (start..end(bits)).find(|&bit| !is_set(bits, bit));
            place = behind.unwrap_or(end(bits));
            Some(MissingEntry { first: first.wrapping_add(u32::from(start)), count: place - start })
        })
    }
}

/// Returns the count of bits.
fn end(bits: &[u8]) -> u16 {
    u16::try_from(8 * bits.len().min(MAX_MAP_LEN)).unwrap_or(u16::MAX)
}

fn is_set(bits: &[u8], bit: u16) -> bool {
    bits.get(usize::from(bit / 8)).is_some_and(|byte| byte & (0x80 >> (bit % 8)) != 0)
}

/// Appends the bits of ranges in ascending order. `first` is the number of the first bit. Where a
/// number has no room, the bits take all of [`MAX_MAP_LEN`].
pub(super) fn append_bits(
    buffer: &mut Vec<u8>,
    first: u32,
    ranges: impl Iterator<Item = MissingEntry>,
) {
    let start = buffer.len();
    for range in ranges {
        let from = range.first.wrapping_sub(first);
        for bit in from..from.saturating_add(range.count.into()) {
            let byte = start + bit as usize / 8;
            if byte >= start + MAX_MAP_LEN {
                return buffer.resize(start + MAX_MAP_LEN, 0);
            }
            if buffer.len() <= byte {
                buffer.resize(byte + 1, 0);
            }
            if let Some(bits) = buffer.get_mut(byte) {
                *bits |= 0x80 >> (bit % 8);
            }
        }
    }
}
