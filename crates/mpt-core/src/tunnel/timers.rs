//! The timers of all connections: a binary heap with one place for each connection.

use std::time::Instant;

/// At most one time for each index. Setting a time costs O(log n), asking for the earliest O(1);
/// memory grows with the largest index only.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    heap: Vec<(Instant, u32)>,
    /// By index: place in the heap.
    places: Vec<Option<u32>>,
}

impl Timers {
    /// The earliest time set.
    #[inline]
    pub(crate) fn earliest(&self) -> Option<Instant> {
        self.heap.first().map(|&(time, _)| time)
    }

    /// Makes room for an index, so that later calls need not.
    pub(crate) fn reserve(&mut self, index: u32) {
        if self.places.len() <= index as usize {
            self.places.resize(index as usize + 1, None);
            self.heap.reserve(self.places.len() - self.heap.len());
        }
    }

    /// Sets the time of an index unless an earlier one is set. A time that moves back is left to
    /// expire early: it is then set anew.
    #[inline]
    pub(crate) fn set_no_later(&mut self, index: u32, time: Instant) {
        match self.places[index as usize] {
            Some(place) if self.heap[place as usize].0 <= time => {}
            Some(place) => {
                self.heap[place as usize].0 = time;
                self.sift_up(place as usize);
            }
            None => {
                self.heap.push((time, index));
                self.sift_up(self.heap.len() - 1);
            }
        }
    }

    /// Takes an index whose time has come.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<u32> {
        let &(time, index) = self.heap.first()?;
        if time > now {
            return None;
        }
        self.clear(index);
        Some(index)
    }

    /// Forgets the time of an index.
    pub(crate) fn clear(&mut self, index: u32) {
        let Some(place) = self.places.get_mut(index as usize).and_then(Option::take) else {
            return;
        };
        let place = place as usize;
        self.heap.swap_remove(place);
        if place < self.heap.len() {
            self.places[self.heap[place].1 as usize] = Some(place as u32);
            self.sift_down(place);
            self.sift_up(place);
        }
    }

    fn sift_up(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent].0 <= self.heap[place].0 {
                break;
            }
            self.swap(place, parent);
            place = parent;
        }
        self.places[self.heap[place].1 as usize] = Some(place as u32);
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let mut earliest = place;
            for child in [left, right] {
                if child < self.heap.len() && self.heap[child].0 < self.heap[earliest].0 {
                    earliest = child;
                }
            }
            if earliest == place {
                return;
            }
            self.swap(place, earliest);
            place = earliest;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.places[self.heap[a].1 as usize] = Some(a as u32);
        self.places[self.heap[b].1 as usize] = Some(b as u32);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_as_a_sorted_map(steps in prop::collection::vec((0_u8..3, 0_u32..20, 0_u64..50), 0..400)) {
            let origin = Instant::now();
            let mut timers = Timers::default();
            let mut model: BTreeMap<u32, u64> = BTreeMap::new();
            timers.reserve(19);
            for (step, index, time) in steps {
                match step {
                    0 => {
                        timers.set_no_later(index, origin + Duration::from_millis(time));
                        let set = model.entry(index).or_insert(time);
                        *set = time.min(*set);
                    }
                    1 => {
                        timers.clear(index);
                        model.remove(&index);
                    }
                    _ => {
                        let popped = timers.pop(origin + Duration::from_millis(time));
                        match popped {
                            Some(index) => {
                                let due = model.remove(&index).unwrap();
                                prop_assert!(due <= time);
                                prop_assert!(model.values().all(|&other| other >= due));
                            }
                            None => prop_assert!(model.values().all(|&other| other > time)),
                        }
                    }
                }
                let earliest = model.values().min().map(|&time| origin + Duration::from_millis(time));
                prop_assert_eq!(timers.earliest(), earliest);
            }
        }
    }
}
