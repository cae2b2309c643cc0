//! Weighted per-packet mapping: the sending vector of Algorithm 1, entry by entry, without the
//! vector.
//!
//! Algorithm 1 (almasi2017, section 4.2) gives the next packet to the path with the smallest `s[i]
//! + L / W[i]`, the lowest index on ties, and adds `L / W[i]` to that path's `s[i]`; `L` is a
//! common multiple of the weights `W`. Divided by `L`, `s[i]` is the fraction `k[i] / W[i]` of
//! `k[i]`, the number of packets the path has got. So the next packet belongs to the smallest
//! `(k[i] + 1) / W[i]`, and fractions compare exactly by cross multiplication.
//!
//! When all fractions have come to 1, every path has got as many packets as its weight says: the
//! round is over and all `k[i]` return to 0. No path passes 1 before all have reached it, hence
//! `k[i] <= W[i]`, and every product fits in 32 bits.
//!
//! The fraction of the last packet sent is the scheduler's virtual time. A path that comes into
//! use, or gets another weight, is put where it would stand at that virtual time had it been there
//! all along: it continues the vector and does not catch up. A path that leaves takes its entries
//! out of the vector; those of the others stay in their order, and so does the ratio among them.

use smallvec::{SmallVec, smallvec};

/// The smallest of `n` fractions is the root of a tournament: one packet costs log2(n) comparisons.
#[derive(Clone, Debug)]
pub struct Weighted {
    /// A power of two of them. Each is leaf `i` and inner node `i` (from 1, the root) of the
    /// tournament in one.
    nodes: SmallVec<[Node; 4]>,
    /// Virtual time: the entry sent last; `None` at the start of a round.
    now: Option<Entry>,
    /// Slots that take part (weight not 0).
    active: u16,
    /// The paths that have got their share of this round.
    finished: u16,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// Leaf: `k`, the packets of this round; its next fraction is `(k + 1) / weight`.
    count: u32,
    /// Leaf: 0 makes the fraction infinite.
    weight: u16,
    /// Inner node: the slot that wins here.
    winner: u16,
}

/// One entry of the sending vector. Entries are ordered by `count / weight`, then by `slot`.
#[derive(Clone, Copy, Debug)]
struct Entry {
    count: u16,
    weight: u16,
    slot: u16,
}

impl Weighted {
    /// Slots are below this number.
    pub const MAX_SLOTS: usize = 1 << 15;

    /// A scheduler without paths, at the start of a round.
    pub fn new() -> Self {
        Self { nodes: smallvec![Node::EMPTY], now: None, active: 0, finished: 0 }
    }

    /// Sets the weight of a slot; 0 takes it out.
    ///
    /// # Panics
    ///
    /// If `slot` is not below [`Self::MAX_SLOTS`].
    pub fn set(&mut self, slot: usize, weight: u16) {
        assert!(slot < Self::MAX_SLOTS, "slot {slot} is too large");
        if slot >= self.nodes.len() {
            self.nodes.resize((slot + 1).next_power_of_two(), Node::EMPTY);
        } else if self.nodes[slot].weight == weight {
            return;
        }
        let leaf = &mut self.nodes[slot];
        leaf.weight = weight;
        leaf.count = self.now.map_or(0, |now| now.entries_up_to_here(weight, slot));

        self.active = self.count(|leaf| leaf.weight != 0);
        self.finished = self.count(|leaf| leaf.weight != 0 && leaf.count == u32::from(leaf.weight));
        if self.active != 0 && self.finished == self.active {
            self.start_round();
        } else {
            self.play_all();
        }
    }

    /// The slot of the next packet; `None` if no slot has a weight.
    #[expect(clippy::should_implement_trait, reason = "a scheduler is no sequence to be collected")]
    #[inline]
    pub fn next(&mut self) -> Option<usize> {
        if self.active == 0 {
            return None;
        }
        let nodes = self.nodes.as_mut_slice();
        let slot = winner(nodes, 1);
        let leaf = &mut nodes[slot];
        leaf.count += 1;
        let Node { count, weight, .. } = *leaf;
        self.now = Some(Entry { count: count as u16, weight, slot: slot as u16 });

        if count == u32::from(weight) {
            self.finished += 1;
            if self.finished == self.active {
                self.start_round();
                return Some(slot);
            }
        }
        let mut node = (slot + nodes.len()) >> 1;
        while node > 0 {
            play(nodes, node);
            node >>= 1;
        }
        Some(slot)
    }

    /// All have got their share: the same again. At most once in `active` packets, so O(1) for
    /// each.
    #[cold]
    fn start_round(&mut self) {
        for node in &mut self.nodes {
            node.count = 0;
        }
        self.now = None;
        self.finished = 0;
        self.play_all();
    }

    fn play_all(&mut self) {
        for node in (1..self.nodes.len()).rev() {
            play(&mut self.nodes, node);
        }
    }

    fn count(&self, condition: impl Fn(&Node) -> bool) -> u16 {
        self.nodes.iter().filter(|node| condition(node)).count() as u16
    }
}

/// Decides an inner node. The left side has the lower slots and wins ties.
#[inline]
fn play(nodes: &mut [Node], node: usize) {
    let (left, right) = (winner(nodes, 2 * node), winner(nodes, 2 * node + 1));
    // At most 65,536 * 65,535 < 2^32. An infinite fraction (weight 0) loses to any other.
    let product = |a: usize, b: usize| (nodes[a].count + 1) * u32::from(nodes[b].weight);
    let right_wins = product(right, left) < product(left, right);
    nodes[node].winner = if right_wins { right } else { left } as u16;
}

/// The slot that wins at a place of the tournament, leaves included.
#[inline]
fn winner(nodes: &[Node], place: usize) -> usize {
    match place.checked_sub(nodes.len()) {
        Some(leaf) => leaf,
        None => usize::from(nodes[place].winner),
    }
}

impl Node {
    /// A slot without a path, and a match that has not been played.
    const EMPTY: Self = Self { count: 0, weight: 0, winner: 0 };
}

impl Default for Weighted {
    fn default() -> Self {
        Self::new()
    }
}

impl Entry {
    /// Returns how many entries a slot of this weight has up to this one, in a round.
    fn entries_up_to_here(&self, weight: u16, slot: usize) -> u32 {
        let product = u32::from(self.count) * u32::from(weight);
        // At most `weight`, because count <= self.weight.
        let entries = product / u32::from(self.weight);
        // Its entry at exactly this time comes after this one if its slot does.
        let tie = product.is_multiple_of(u32::from(self.weight)) && slot > usize::from(self.slot);
        if tie { entries.saturating_sub(1) } else { entries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduler(weights: &[u16]) -> Weighted {
        let mut weighted = Weighted::new();
        for (slot, &weight) in weights.iter().enumerate() {
            weighted.set(slot, weight);
        }
        weighted
    }

    fn vector(weighted: &mut Weighted, length: usize) -> Vec<usize> {
        (0..length).map(|_| weighted.next().unwrap() + 1).collect()
    }

    #[test]
    fn short_vectors_repeat() {
        for (weights, expected) in [
            (&[10, 10][..], &[1, 2][..]),
            (&[3, 1], &[1, 1, 1, 2]),
            (&[5, 2, 3], &[1, 3, 1, 2, 1, 3, 1, 1, 2, 3]),
            (&[100, 50], &[1, 1, 2]),
            (&[7], &[1]),
        ] {
            let mut weighted = scheduler(weights);
            for _ in 0..300 {
                assert_eq!(vector(&mut weighted, expected.len()), expected, "{weights:?}");
            }
        }
    }

    #[test]
    fn without_paths_there_is_nothing_to_choose() {
        let mut weighted = Weighted::new();
        assert_eq!(weighted.next(), None);
        weighted.set(3, 5);
        assert_eq!(weighted.next(), Some(3));
        weighted.set(3, 0);
        assert_eq!(weighted.next(), None);
    }

    #[test]
    fn products_of_the_largest_weights_do_not_overflow() {
        let mut weighted = scheduler(&[65_535, 65_534, 65_535]);
        for _ in 0..400_000 {
            weighted.next().unwrap();
        }
    }
}
