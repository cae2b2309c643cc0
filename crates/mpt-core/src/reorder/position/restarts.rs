//! A peer that begins at 0 again without saying so: its first numbers look like old ones that come late, or once more.

use crate::sequence::Sequence;

/// The place of the window before the peer's restart.
#[derive(Clone, Copy, Debug)]
pub(in crate::reorder) struct BeforeRestart {
    pub(in crate::reorder) due: Sequence,
    /// The time until which it matters.
    pub(in crate::reorder) until: u64,
}

/// The first numbers of a new life are those up to this one, as for the papers' prototype.
const LAST: u32 = 50;
/// So many different ones are believed. The prototype believes one, which anybody can forge.
const AGREEING: usize = 3;

/// First numbers that came although they had long been due.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::reorder) struct Restarts {
    numbers: [Sequence; AGREEING],
    len: usize,
    /// The arrival of the first of them, in nanoseconds of the buffer's clock.
    since: u64,
}

impl Restarts {
    /// Notes a number before the one due. Says whether enough first numbers have come within `limit` nanoseconds to believe in a restart.
    pub(in crate::reorder) fn push(&mut self, now: u64, number: Sequence, limit: u64) -> bool {
        if number.0 > LAST {
            return false;
        }
        if self.len > 0 && now.saturating_sub(self.since) >= limit {
            self.len = 0;
        }
        if self.numbers[..self.len].contains(&number) {
            return false;
        }
        if self.len == 0 {
            self.since = now;
        }
        self.numbers[self.len] = number;
        self.len += 1;
        if self.len == AGREEING {
            self.len = 0;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_different_first_numbers_in_time_are_believed() {
        let told = |all: &[(u64, u32)]| {
            let mut restarts = Restarts::default();
            let told = all.iter().map(|&(now, number)| restarts.push(now, Sequence(number), 10));
            told.collect::<Vec<_>>()
        };
        assert_eq!(told(&[(0, 0), (1, 2), (2, 1)]), [false, false, true]);
        assert_eq!(told(&[(0, 0), (1, 0), (2, 0), (3, 1)]), [false; 4], "copies of one");
        assert_eq!(told(&[(0, 0), (1, 1), (2, 51)]), [false; 3], "no first number");
        assert_eq!(told(&[(0, 0), (9, 1), (10, 2)]), [false; 3], "not in time");
        assert_eq!(told(&[(0, 0), (10, 1), (11, 2), (12, 3)]), [false, false, false, true]);
    }
}
