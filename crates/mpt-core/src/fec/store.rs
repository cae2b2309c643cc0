//! Packets that have come lately, for the symbols that follow them.

use std::collections::VecDeque;

use super::code::MAX_LEN;

/// Bytes of packets that are kept.
const BYTES: usize = 128 << 10;
/// Packets that are kept.
const MOST: usize = 1_024;

#[derive(Clone, Copy, Debug)]
struct Place {
    number: u32,
    start: usize,
    len: usize,
}

/// The packets, the oldest first. Their bytes lie one behind the other, and begin again at the beginning.
#[derive(Debug)]
pub(super) struct Store {
    bytes: Box<[u8]>,
    places: VecDeque<Place>,
    /// The place at which the next packet begins.
    next: usize,
}

impl Store {
    pub(super) fn new() -> Self {
        let bytes = vec![0; BYTES].into_boxed_slice();
        Self { bytes, places: VecDeque::with_capacity(MOST), next: 0 }
    }

    /// Keeps a packet of at most [`MAX_LEN`] bytes; the oldest ones make room.
    pub(super) fn insert(&mut self, number: u32, packet: &[u8]) {
        let len = packet.len();
        if len > MAX_LEN {
            return;
        }
        if self.next + len > BYTES {
            // Packets between here and the end of the memory are the oldest now, so they make room first.
            while self.places.front().is_some_and(|place| place.start >= self.next) {
                self.places.pop_front();
            }
            self.next = 0;
        }
        let (start, end) = (self.next, self.next + len);
        let overlaps = |place: &Place| (start..end).contains(&place.start);
        while self.places.len() == MOST || self.places.front().is_some_and(overlaps) {
            self.places.pop_front();
        }
        self.bytes[start..end].copy_from_slice(packet);
        self.places.push_back(Place { number, start, len });
        self.next = end;
    }

    /// Returns the packet of a number.
    pub(super) fn get(&self, number: u32) -> Option<&[u8]> {
        let place = self.places.iter().rev().find(|place| place.number == number)?;
        self.bytes.get(place.start..place.start + place.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_packets_are_there_whole_and_the_oldest_make_room() {
        let mut store = Store::new();
        let packet = |number: u32| vec![number as u8; 1 + (number as usize * 37) % MAX_LEN];
        for number in 0..5_000_u32 {
            store.insert(number, &packet(number));
            let mut held = 0;
            for &place in &store.places {
                assert_eq!(store.get(place.number), Some(&packet(place.number)[..]));
                held += place.len;
            }
            assert!(held <= BYTES && store.places.len() <= MOST);
            assert!(number < 300 || store.places.len() > 100, "{}", store.places.len());
        }
        assert_eq!(store.get(4_000), None);
        store.insert(6_000, &[0; MAX_LEN + 1]);
        assert_eq!(store.get(6_000), None);
    }
}
