//! The tags of sealed packets that may have to be sent again.
//!
//! A packet that is lost is sealed again for its repair, and must become the same bytes: two different
//! packets under one number would give both away. The tag depends on every byte of a packet, so that
//! the packet is the same if its tag is.

use std::collections::VecDeque;

use super::TAG_LEN;

/// Tags that are kept at the most: a peer takes no number that is further behind (`Seen`).
const MOST: usize = 65_536;

/// The tag of a sealed packet.
pub(super) type TagBytes = [u8; TAG_LEN];

/// The tags of the latest packets sealed under one key, in the order of their numbers. Allocates when
/// more are kept than ever before.
#[derive(Debug, Default)]
pub(super) struct Tags {
    kept: VecDeque<(u64, TagBytes)>,
}

impl Tags {
    /// Keeps the tag of a number, the highest so far, and forgets those of numbers below `from`.
    #[inline]
    pub(super) fn keep(&mut self, number: u64, tag: TagBytes, from: u64) {
        while self.kept.len() == MOST || self.kept.front().is_some_and(|&(kept, _)| kept < from) {
            self.kept.pop_front();
        }
        self.kept.push_back((number, tag));
    }

    /// Returns the tag of a number, if it is kept.
    pub(super) fn find(&self, number: u64) -> Option<TagBytes> {
        let place = self.kept.binary_search_by_key(&number, |&(kept, _)| kept).ok()?;
        Some(self.kept[place].1)
    }

    /// Forgets all tags and gives their memory back.
    #[inline]
    pub(super) fn clear(&mut self) {
        if self.kept.capacity() > 0 {
            self.kept = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_asked_for_is_kept_and_never_more_than_the_bound() {
        let mut tags = Tags::default();
        for number in 0..10 {
            tags.keep(number, [number as u8; TAG_LEN], 4);
        }
        assert_eq!((tags.find(3), tags.find(10)), (None, None));
        assert_eq!(tags.find(4), Some([4; TAG_LEN]));
        for number in 10..3 * MOST as u64 {
            tags.keep(number, [1; TAG_LEN], 4);
        }
        assert_eq!(tags.kept.len(), MOST);
        assert_eq!(tags.find(2 * MOST as u64 - 1), None);
        assert!(tags.find(2 * MOST as u64).is_some());
        tags.clear();
        assert_eq!(tags.kept.capacity(), 0);
    }
}
