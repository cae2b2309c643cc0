//! The shards of a daemon: each has a [`Node`](crate::Node) with connections of its own.
//!
//! An index that this end gives out names keys of one node, and the frames and packets for these keys
//! carry it in the clear. Its first [`SHARD_BITS`] bits are the number of the shard, so a shard that
//! receives what is for another one can tell whose it is without knowing the keys.

use crate::session::Random;

/// The number of bits of an index, from the most significant one on, that hold the shard. The other
/// 28 are random. They leave room for the indices of a node, which has 2^20 sessions at most with
/// a few indices each: a draw seldom finds an index that is in use.
pub const SHARD_BITS: u32 = 4;

/// The number of a shard of a daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shard(u8);

impl Shard {
    /// The first shard, which every daemon has.
    pub const FIRST: Self = Self(0);

    /// Returns the shard with this number; `None` if an index has no room for the number.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number < 1 << SHARD_BITS { Some(Self(number)) } else { None }
    }

    /// Returns the number of the shard, counted from 0.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the shard that has given out an index.
    #[must_use]
    pub const fn of_index(index: u32) -> Self {
        let [first, ..] = index.to_be_bytes();
        Self(first >> (u8::BITS - SHARD_BITS))
    }

    /// Draws an index of this shard that `take` accepts. `take` refuses an index that is in use.
    pub(crate) fn draw_index(self, random: &mut Random, mut take: impl FnMut(u32) -> bool) -> u32 {
        let shard = u32::from(self.0) << (u32::BITS - SHARD_BITS);
        loop {
            let index = shard | random.u32() >> SHARD_BITS;
            if take(index) {
                return index;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn shards() -> impl Iterator<Item = Shard> {
        (0..=u8::MAX).map_while(Shard::new)
    }

    #[test]
    fn an_index_has_room_for_sixteen_shards() {
        assert_eq!(shards().count(), 16);
        assert_eq!(Shard::new(16), None);
        assert_eq!(shards().next(), Some(Shard::FIRST));
    }

    #[test]
    fn an_index_says_which_shard_has_drawn_it() {
        for shard in shards() {
            let mut random = Random::new([shard.number(); 32]);
            for _ in 0..1000 {
                let index = shard.draw_index(&mut random, |_| true);
                assert_eq!(Shard::of_index(index), shard);
                assert_eq!(index >> 28, u32::from(shard.number()));
            }
        }
    }

    #[test]
    fn every_other_bit_of_an_index_is_random() {
        let mut random = Random::new([1; 32]);
        let shard = Shard::new(5).unwrap();
        let drawn: Vec<u32> = (0..1000).map(|_| shard.draw_index(&mut random, |_| true)).collect();
        for bit in 0..28 {
            let ones = drawn.iter().filter(|&index| index >> bit & 1 == 1).count();
            // The mean is 500 and the standard deviation 16.
            assert!((400..600).contains(&ones), "bit {bit} is set {ones} times in 1000");
        }
        let different: BTreeSet<&u32> = drawn.iter().collect();
        assert!(different.len() > 990, "{} of 1000 differ", different.len());
    }

    #[test]
    fn an_index_that_is_in_use_is_not_given_again() {
        let draw = |taken: &mut BTreeSet<u32>| {
            // The same numbers come each time.
            Shard::FIRST.draw_index(&mut Random::new([2; 32]), |index| taken.insert(index))
        };
        let mut taken = BTreeSet::new();
        let drawn: BTreeSet<u32> = (0..100).map(|_| draw(&mut taken)).collect();
        assert_eq!(drawn.len(), 100);
    }
}
