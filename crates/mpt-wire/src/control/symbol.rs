//! Repair symbols of the forward error correction of data packets.

use crate::bytes::u32_at;

/// The most packets of a group.
pub const MAX_GROUP: usize = 8;
/// Length of the fields before the numbers and the bytes of a symbol.
const HEAD_LEN: usize = 5;

/// Why the body of a message is no symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// It ends before its parity.
    Length,
    /// A group has more packets than one may have, or the present one has none.
    Counts,
}

/// A repair symbol: the sum of the second parity of an earlier group of data packets and the first parity
/// of the present one.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                         First number                          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |Earlier|Present|  for each further number: its distance from   ~
/// +-+-+-+-+-+-+-+-+                the first one, u16             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                            Parity                             ~
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// The first number of the earlier group, or of the present one where there is no earlier one.
    pub first: u32,
    /// Packets of the earlier group: at most [`MAX_GROUP`].
    pub earlier: u8,
    /// Packets of the present group: from 1 to [`MAX_GROUP`].
    pub present: u8,
    /// The distances of the other numbers from the first one, two bytes each.
    offsets: &'a [u8],
    /// The sum of both parities.
    pub parity: &'a [u8],
}

/// The distances of numbers from the first one, as bytes.
#[derive(Clone, Copy, Debug)]
pub struct Offsets {
    bytes: [u8; 2 * (2 * MAX_GROUP - 1)],
    len: usize,
}

impl Offsets {
    /// Returns the distances of all numbers but the first. `None` if there are too many, or one is too far
    /// from the first one.
    pub fn of(numbers: impl IntoIterator<Item = u32>) -> Option<(u32, Self)> {
        let mut numbers = numbers.into_iter();
        let first = numbers.next()?;
        let mut offsets = Self { bytes: [0; 2 * (2 * MAX_GROUP - 1)], len: 0 };
        for number in numbers {
            let offset = u16::try_from(number.wrapping_sub(first)).ok()?;
            let place = offsets.bytes.get_mut(offsets.len..offsets.len + 2)?;
            place.copy_from_slice(&offset.to_be_bytes());
            offsets.len += 2;
        }
        Some((first, offsets))
    }
}

impl<'a> Symbol<'a> {
    /// The bytes of a message that are no parity, at the most, its own header aside.
    pub const MAX_HEAD_LEN: usize = HEAD_LEN + 2 * (2 * MAX_GROUP - 1);

    /// Makes a symbol of `earlier` and then `present` numbers.
    pub fn new(
        first: u32,
        offsets: &'a Offsets,
        (earlier, present): (u8, u8),
        parity: &'a [u8],
    ) -> Self {
        let offsets = offsets.bytes.get(..offsets.len).unwrap_or_default();
        Self { first, earlier, present, offsets, parity }
    }

    /// Returns the numbers of the earlier group, and behind them those of the present one.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + use<'a> {
        let first = self.first;
        let pairs = self.offsets.as_chunks::<2>().0;
        let others = pairs.iter().map(|&pair| u16::from_be_bytes(pair));
        std::iter::once(first).chain(others.map(move |it| first.wrapping_add(it.into())))
    }

    pub(super) fn parse(body: &'a [u8]) -> Result<Self, Malformed> {
        let (head, rest) = body.split_first_chunk::<HEAD_LEN>().ok_or(Malformed::Length)?;
        let (earlier, present) = (head[4] >> 4, head[4] & 15);
        if usize::from(earlier) > MAX_GROUP || !(1..=MAX_GROUP).contains(&present.into()) {
            return Err(Malformed::Counts);
        }
        let offsets = 2 * (usize::from(earlier + present) - 1);
        let (offsets, parity) = rest.split_at_checked(offsets).ok_or(Malformed::Length)?;
        if parity.is_empty() {
            return Err(Malformed::Length);
        }
        Ok(Self { first: u32_at(head, 0), earlier, present, offsets, parity })
    }

    /// Returns the bytes before the parity: head and offsets.
    pub(super) fn head(&self) -> ([u8; HEAD_LEN], &'a [u8]) {
        let [a, b, c, d] = self.first.to_be_bytes();
        ([a, b, c, d, self.earlier << 4 | self.present], self.offsets)
    }
}
