//! Places that have their turns one after another.

/// The turn of some places, of which there may be more or less the next time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns(usize);

impl Turns {
    /// Returns all of `len` places, beginning with another one each time.
    pub(crate) fn all(&mut self, len: usize) -> impl Iterator<Item = usize> + Clone + use<> {
        let first = self.0;
        self.0 = first.wrapping_add(1);
        (0..len).map(move |i| first.wrapping_add(i) % len)
    }

    /// Returns the next of `len` places, which are two or more, but not `own`.
    pub(crate) fn next_but(&mut self, own: usize, len: usize) -> usize {
        self.0 = (self.0 + 1) % len;
        if self.0 == own {
            self.0 = (self.0 + 1) % len;
        }
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_comes_first_in_turn() {
        let mut turns = Turns::default();
        assert!(turns.all(3).eq([0, 1, 2]));
        assert!(turns.all(3).eq([1, 2, 0]));
        assert!(turns.all(0).eq([]), "there may be none");
        assert!(turns.all(3).eq([0, 1, 2]));
    }

    #[test]
    fn all_places_but_the_own_one_have_their_turn() {
        let mut turns = Turns::default();
        let order: Vec<usize> = (0..5).map(|_| turns.next_but(1, 4)).collect();
        assert_eq!(order, [2, 3, 0, 2, 3]);
    }
}
