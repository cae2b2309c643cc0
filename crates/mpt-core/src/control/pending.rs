//! Keys that a responder made and no frame has arrived under yet. Whoever replays initiations can
//! have many made, so they are bounded.

use std::collections::VecDeque;

use super::key::PublicKey;

/// How many are kept in all. Keys and the answer that made them take less than
/// 1 KB, so all of them less than 1 MB.
pub const MAX_PENDING: usize = 1024;
/// How many are kept of one peer: an initiator has one or two attempts on their way.
pub const MAX_PENDING_PER_PEER: usize = 4;

/// Indices of unconfirmed keys, oldest first. Its owner drops the keys that have to go.
#[derive(Debug, Default)]
pub struct Pending {
    queue: VecDeque<(PublicKey, u32)>,
}

impl Pending {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the keys with the local index `index`, made for `peer`. What has to go for them, if
    /// anything: the oldest of the peer if it has [`MAX_PENDING_PER_PEER`], else the oldest of all
    /// if there are [`MAX_PENDING`].
    pub fn insert(&mut self, peer: PublicKey, index: u32) -> Option<u32> {
        let of_peer = self.queue.iter().filter(|(other, _)| *other == peer).count();
        let gone = if of_peer >= MAX_PENDING_PER_PEER {
            let oldest = self.queue.iter().position(|(other, _)| *other == peer);
            oldest.and_then(|oldest| self.queue.remove(oldest))
        } else if self.queue.len() >= MAX_PENDING {
            self.queue.pop_front()
        } else {
            None
        };
        self.queue.push_back((peer, index));
        gone.map(|(_, index)| index)
    }

    /// Takes keys out, because they were confirmed or dropped: whether they were pending.
    pub fn remove(&mut self, index: u32) -> bool {
        let place = self.queue.iter().position(|(_, pending)| *pending == index);
        place.and_then(|place| self.queue.remove(place)).is_some()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(n: u32) -> PublicKey {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&n.to_be_bytes());
        PublicKey::from(bytes)
    }

    #[test]
    fn the_oldest_of_a_peer_goes_for_its_fifth() {
        let mut pending = Pending::new();
        assert_eq!(pending.insert(peer(2), 20), None);
        for index in 0..4 {
            assert_eq!(pending.insert(peer(1), index), None);
        }
        assert_eq!(pending.insert(peer(1), 4), Some(0));
        assert!(pending.remove(2));
        assert!(!pending.remove(2));
        assert_eq!(pending.insert(peer(1), 5), None);
        assert_eq!(pending.insert(peer(1), 6), Some(1));
        assert_eq!(pending.len(), 5);
    }

    #[test]
    fn the_oldest_of_all_goes_for_the_1025th() {
        let mut pending = Pending::new();
        for index in 0..1024 {
            assert_eq!(pending.insert(peer(index), index), None);
        }
        assert_eq!(pending.insert(peer(2000), 1024), Some(0));
        assert_eq!(pending.insert(peer(2001), 1025), Some(1));
        assert_eq!(pending.len(), MAX_PENDING);
    }
}
