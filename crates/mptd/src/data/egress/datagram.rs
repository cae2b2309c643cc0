//! A datagram on its way from its framing to its socket.

use std::ops::Range;

/// A datagram in the round's memory, in two pieces: neighbours share a super-packet, so that the payload stays where it
/// was read, and the headers of each lie elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::data) struct Datagram {
    head: Piece,
    payload: Piece,
}

/// A range of the round's memory.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    start: u32,
    end: u32,
}

impl Datagram {
    /// A datagram of its headers (GRE, and those of the inner packet) and the rest of the inner packet.
    #[inline]
    pub(super) fn pieces(head: Range<usize>, payload: Range<usize>) -> Self {
        Self { head: head.into(), payload: payload.into() }
    }

    /// A datagram in one piece, tag included.
    #[inline]
    pub(super) fn whole(bytes: Range<usize>) -> Self {
        Self { head: bytes.into(), payload: Piece::default() }
    }

    /// Returns the length of the datagram.
    #[inline]
    pub(super) fn len(self) -> usize {
        self.head.len() + self.payload.len()
    }

    /// Returns the bytes of both pieces, of which the second one may be empty.
    #[inline]
    pub(super) fn of(self, arena: &[u8]) -> [&[u8]; 2] {
        [self.head, self.payload].map(|it| &arena[it.start as usize..it.end as usize])
    }
}

impl Piece {
    #[inline]
    fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

impl From<Range<usize>> for Piece {
    #[inline]
    fn from(range: Range<usize>) -> Self {
        Self { start: range.start as u32, end: range.end as u32 }
    }
}
