//! The history of the last 65,536 numbers: which of them were delivered.

use crate::sequence::Sequence;

/// The length of the history, whatever the window is.
pub(crate) const LEN: u32 = 1 << 16;
/// H, the distance from the number due within which a number can be judged.
pub(in crate::reorder) const HORIZON: i32 = LEN as i32;
const WORDS: usize = LEN as usize / 64;

/// One bit for each of the [`LEN`] numbers before the one due: whether it was delivered. 8 KB, from
/// the first number on: of thousands of clients, most are connected and silent.
///
/// The word that numbers were entered in last is kept apart, so that packets in order touch the rest
/// only once in 64.
#[derive(Debug)]
#[repr(C)] // kept small, see `ReorderBuffer`
pub(crate) struct History {
    recent: u64,
    /// The block of 64 numbers that `recent` stands for: its first number divided by 64. The word
    /// in `words` is out of date.
    block: u32,
    words: Option<Box<[u64; WORDS]>>,
}

impl History {
    pub(crate) fn new() -> Self {
        Self { recent: 0, block: 0, words: None }
    }

    /// Notes the number due as delivered.
    #[inline]
    pub(crate) fn insert_next(&mut self, number: Sequence) {
        if number.0 / 64 != self.block {
            self.enter(number.0 / 64);
        }
        self.recent |= bit(number);
    }

    /// Notes a number as delivered.
    #[inline]
    pub(crate) fn insert(&mut self, number: Sequence) {
        *self.word(number) |= bit(number);
    }

    /// True if the number was delivered. The caller makes sure that it lies in the last [`LEN`].
    #[inline]
    pub(crate) fn contains(&mut self, number: Sequence) -> bool {
        *self.word(number) & bit(number) != 0
    }

    /// Notes `count` numbers from `first` on as delivered, [`LEN`] at most. Works in words.
    pub(crate) fn insert_all(&mut self, first: Sequence, count: u32) {
        self.change_all(first, count.min(LEN), |word, mask| *word |= mask);
    }

    /// Notes `count` numbers from `first` on as not delivered, because they enter the history as
    /// given up. Works in words.
    pub(crate) fn remove(&mut self, first: Sequence, count: u32) {
        if count >= LEN {
            return self.clear();
        }
        self.change_all(first, count, |word, mask| *word &= !mask);
    }

    /// Changes the bits of `count` numbers from `first` on, which each mask selects in its word.
    fn change_all(&mut self, first: Sequence, count: u32, change: impl Fn(&mut u64, u64)) {
        let (mut number, mut left) = (first, count);
        while left > 0 {
            let offset = number.0 % 64;
            let here = left.min(64 - offset);
            let mask = (u64::MAX >> (64 - here)) << offset;
            change(self.word(number), mask);
            number += here;
            left -= here;
        }
    }

    /// The first number from `from` on and before `end` that was delivered (`entered`), or that was
    /// not. Both lie in the last [`LEN`] numbers. Works in words.
    pub(crate) fn find(&self, from: Sequence, end: Sequence, entered: bool) -> Option<Sequence> {
        let mut number = from;
        while number.is_before(end) {
            let offset = number.0 % 64;
            let word = (number.0 / 64) as usize % WORDS;
            let here = word == self.block as usize % WORDS;
            let others = || self.words.as_ref().map_or(0, |words| words[word]);
            let word = if here { self.recent } else { others() };
            let word = if entered { word } else { !word } >> offset;
            if word != 0 {
                let found = number + word.trailing_zeros();
                return found.is_before(end).then_some(found);
            }
            number += 64 - offset;
        }
        None
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.recent = 0;
        self.words = None;
    }

    #[cold]
    fn enter(&mut self, block: u32) {
        let (left, entered) = (self.block as usize % WORDS, block as usize % WORDS);
        let recent = self.recent;
        let words = self.words();
        words[left] = recent;
        self.recent = words[entered];
        self.block = block;
    }

    #[inline]
    fn words(&mut self) -> &mut [u64; WORDS] {
        self.words.get_or_insert_with(|| Box::new([0; WORDS]))
    }

    #[inline]
    fn word(&mut self, number: Sequence) -> &mut u64 {
        // Blocks 65,536 numbers apart share a word.
        let word = (number.0 / 64) as usize % WORDS;
        if word == self.block as usize % WORDS { &mut self.recent } else { &mut self.words()[word] }
    }
}

#[inline]
fn bit(number: Sequence) -> u64 {
    1 << (number.0 % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_exactly_the_range() {
        let base = Sequence(u32::MAX - 300);
        for (start, count) in [(0, 1), (3, 61), (3, 62), (64, 64), (10, 0), (17, 400)] {
            let mut h = History::new();
            for i in 0..700 {
                h.insert_next(base + i);
            }
            h.remove(base + start, count);
            for i in 0..700 {
                let inside = (start..start + count).contains(&i);
                assert_eq!(h.contains(base + i), !inside, "{i} of {start}, {count}");
            }
        }
    }

    #[test]
    fn inserts_exactly_the_range() {
        let base = Sequence(u32::MAX - 300);
        for (start, count) in [(0, 1), (3, 61), (3, 62), (64, 64), (10, 0), (17, 400)] {
            let mut h = History::new();
            h.insert_all(base + start, count);
            for i in 0..700 {
                let inside = (start..start + count).contains(&i);
                assert_eq!(h.contains(base + i), inside, "{i} of {start}, {count}");
            }
        }
    }

    #[test]
    fn the_first_number_of_a_kind_is_found() {
        let base = Sequence(u32::MAX - 100);
        let mut h = History::new();
        for i in (0..70).chain(75..200) {
            h.insert_next(base + i);
        }
        let offset = |found: Option<Sequence>| found.map(|it| it.ahead_of(base));
        assert_eq!(offset(h.find(base, base + 200, false)), Some(70));
        assert_eq!(offset(h.find(base + 70, base + 200, true)), Some(75));
        assert_eq!(h.find(base + 75, base + 200, false), None);
        assert_eq!(h.find(base, base + 70, false), None);
        assert_eq!(h.find(base + 72, base + 72, false), None);
        assert_eq!(offset(h.find(base + 199, base + 300, false)), Some(200));
    }

    #[test]
    fn removing_everything_clears() {
        let mut h = History::new();
        h.insert(Sequence(9));
        h.remove(Sequence(70_000), LEN);
        assert!(!h.contains(Sequence(9)));
    }
}
