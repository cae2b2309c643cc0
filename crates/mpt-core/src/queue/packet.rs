//! A packet or super-packet that waits, and how its segments are counted.

use mpt_wire::tcp::acknowledgement::Acknowledgement;

/// A packet or super-packet that waits.
///
/// Its segments are numbered from 0. Each takes `largest` bytes of `total`, and the last one takes
/// what remains. A packet that is no super-packet has one segment, of `total` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting<T> {
    /// Hash of the inner 5-tuple, with well mixed low bits.
    pub flow: u64,
    /// Number of packets it is cut into on leaving; 0 is taken as 1.
    pub segments: u16,
    /// Bytes of every segment but perhaps the last, headers included.
    pub largest: u32,
    /// Bytes of all segments together, the headers of each included.
    pub total: u32,
    /// The first segment that has not left yet, usually 0; at most the last one.
    pub first: u16,
    /// The packet has an ECN-capable transport (RFC 3168 section 5): its segments are marked where
    /// others are dropped.
    pub ect: bool,
    /// Its flow takes whichever path has credit, so that the rate of all paths is that of the flow. See
    /// [`FairQueue::set_best_rate`](super::FairQueue::set_best_rate).
    pub spreads: bool,
    /// The acknowledgement of a TCP segment that says nothing else ([`Acknowledgement::of`]). It counts
    /// only for a packet of one segment.
    pub acknowledges: Option<Acknowledgement>,
    /// Data of the owner.
    pub tag: T,
}

impl<T> Waiting<T> {
    /// Makes the fields fit each other, whatever they are.
    pub(super) fn checked(mut self) -> Self {
        self.segments = self.segments.max(1);
        self.first = self.first.min(self.segments - 1);
        self.acknowledges = self.acknowledges.filter(|_| self.segments == 1);
        self
    }

    /// Returns the bytes of the segments that have not left.
    #[inline]
    pub(super) fn bytes(&self) -> u32 {
        let before = u64::from(self.first) * u64::from(self.largest);
        u64::from(self.total).saturating_sub(before) as u32
    }

    /// Returns the bytes of the first segment that has not left.
    #[inline]
    pub(super) fn first_bytes(&self) -> u32 {
        if self.is_last() { self.bytes() } else { self.bytes().min(self.largest) }
    }

    /// Returns whether one segment has not left, the last one.
    #[inline]
    pub(super) const fn is_last(&self) -> bool {
        self.first + 1 >= self.segments
    }

    /// Returns whether `later`, which stands behind this one, says all that this one does: both are
    /// acknowledgements of the same flow, and it acknowledges what this one does and more.
    #[inline]
    pub(super) fn is_superseded_by(&self, later: &Self) -> bool {
        self.flow == later.flow
            && self
                .acknowledges
                .zip(later.acknowledges)
                .is_some_and(|(this, later)| this.is_superseded_by(&later))
    }

    /// Returns how many segments have not left.
    #[inline]
    pub(super) const fn segments(&self) -> u16 {
        self.segments - self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgement_numbers_are_compared_in_their_ring() {
        let acknowledgement = |number| Waiting {
            spreads: true,
            flow: 1,
            segments: 1,
            largest: 52,
            total: 52,
            first: 0,
            ect: false,
            acknowledges: Some(Acknowledgement::plain(number)),
            tag: (),
        };
        for (number, other, after) in [
            (1, 0, true),
            (0, 1, false),
            (5, 5, false),
            (2, u32::MAX, true),
            (u32::MAX, 2, false),
            (1 << 30, 0, true),
        ] {
            let [number, other] = [number, other].map(acknowledgement);
            assert_eq!(other.is_superseded_by(&number), after, "{number:?} {other:?}");
        }
    }
}
