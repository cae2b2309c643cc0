//! All unconfirmed keys of a daemon: keys that a responder made and under which no frame has come
//! yet. An attacker that repeats recorded initiations can have some made, so they are bounded.

use std::collections::VecDeque;

/// The unconfirmed keys that are kept in all. Keys and the answer that made them take less than
/// 1 KB, so all of them less than 1 MB.
pub const MAX_PENDING: usize = 1024;

/// Indices of unconfirmed keys, oldest first. Its owner drops the keys that have to go.
#[derive(Debug, Default)]
pub struct Pending {
    queue: VecDeque<Entry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    index: u32,
    /// The initiation has shown a challenge, so the peer made it.
    challenged: bool,
}

impl Pending {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// True if keys of an unchallenged initiation find no room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.queue.len() >= MAX_PENDING
    }

    /// Adds the keys with the local index `index`. Returns those that have to go for them, if there
    /// are [`MAX_PENDING`]: the oldest of an unchallenged initiation, else the oldest.
    pub fn insert(&mut self, index: u32, challenged: bool) -> Option<u32> {
        let gone = self.next_to_go().filter(|_| self.is_full());
        if let Some(gone) = gone {
            self.remove(gone);
        }
        self.queue.push_back(Entry { index, challenged });
        gone
    }

    fn next_to_go(&self) -> Option<u32> {
        self.in_order().next()
    }

    /// Iterates over them in the order in which they make room: those of unchallenged initiations
    /// before the others, the oldest first.
    pub fn in_order(&self) -> impl Iterator<Item = u32> {
        let unchallenged = self.queue.iter().filter(|entry| !entry.challenged);
        let challenged = self.queue.iter().filter(|entry| entry.challenged);
        unchallenged.chain(challenged).map(|entry| entry.index)
    }

    /// Takes keys out, because they were confirmed or dropped. True if they were pending.
    pub fn remove(&mut self, index: u32) -> bool {
        let place = self.queue.iter().position(|entry| entry.index == index);
        place.and_then(|place| self.queue.remove(place)).is_some()
    }

    /// Returns how many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_unchallenged_ones_go_first() {
        let mut pending = Pending::new();
        for index in 0..1024 {
            assert_eq!(pending.insert(index, index < 2), None);
        }
        assert!(pending.is_full());
        assert_eq!(pending.insert(1024, true), Some(2));
        assert_eq!(pending.insert(1025, true), Some(3));
        assert_eq!(pending.len(), MAX_PENDING);
        assert!(pending.remove(4));
        assert!(!pending.remove(4));
        assert_eq!(pending.insert(1026, true), None);
    }

    #[test]
    fn then_the_oldest_of_all() {
        let mut pending = Pending::new();
        for index in 0..1024 {
            assert_eq!(pending.insert(index, true), None);
        }
        assert_eq!(pending.insert(1024, true), Some(0));
        assert_eq!(pending.insert(1025, true), Some(1));
        assert_eq!(pending.len(), MAX_PENDING);
    }
}
