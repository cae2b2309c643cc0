//! The evidence of one path's numbers about the numbers still to arrive on it.

use super::lag::Lag;
use super::patience::Patience;
use crate::reorder::clock::NEVER;
use crate::sequence::Sequence;

/// Spacings per block; the smallest and largest are those of the present and the previous block.
const BLOCK: u8 = 16;
/// From how many spacings on the path's share of the weights is no longer consulted.
const ENOUGH: u8 = 4;
/// From this spacing on a path is assumed to begin with a whole one.
const RARE: u32 = 64;
/// The distance beyond twice the largest spacing that the other paths have to reach before the
/// clock of the path's silence starts. The verdict does not need it, but it makes the test rare.
const SLACK: u32 = 64;

/// A path's statistics. The fields that every packet needs stand in the first 64 bytes.
#[derive(Debug)]
#[repr(C, align(64))]
pub(in crate::reorder) struct Path {
    pub(in crate::reorder) up: bool,
    /// A packet came since the path came up, or an announcement said where its numbers begin.
    pub(in crate::reorder) seen: bool,
    /// `highest` is such a beginning and no number that came.
    assumed: bool,
    /// The spacing up to the next number says nothing.
    unspaced: bool,
    /// A packet waited the maximum delay in vain for a number that only this path could bring.
    missed: bool,
    known: u8,
    in_block: u8,
    /// The highest number it brought.
    pub(in crate::reorder) highest: Sequence,
    /// The arrival of that number; before there is one, the time at which the path came up.
    highest_at: u64,
    /// The time since which the other paths are beyond the number that this path should have
    /// delivered; `None` while they are not.
    pub(in crate::reorder) passed_since: Option<u64>,
    /// Smallest and largest spacing between its numbers, of this block and the one before.
    smallest: [u32; 2],
    largest: [u32; 2],
    /// Its spacing by the weights.
    share: Share,

    pub(in crate::reorder) lag: Lag,
    pub(in crate::reorder) patience: Patience,
    pub(in crate::reorder) weight: u16,
    /// The first number of the present weights, when its statistics began anew with it.
    renewed: Option<Sequence>,
    /// The path's position before a restart of the peer, while it has delivered nothing since.
    before_restart: Option<BeforeRestart>,
}

/// A path's spacings by the weights.
#[derive(Clone, Copy, Debug)]
pub(in crate::reorder) struct Share {
    smallest: u32,
    largest: u32,
    /// By how much the schedule may vary a spacing: by one for each other path.
    variation: u32,
}

impl Share {
    /// The share of a path of weight `own` among paths of `weights`, its own included. Between two
    /// of its numbers the schedule (Algorithm 1) gives a path of weight v at least the whole part of
    /// v / own numbers.
    pub(in crate::reorder) fn new(own: u16, weights: impl Iterator<Item = u16>) -> Self {
        let own = u32::from(own.max(1));
        let (mut total, mut smallest, mut paths) = (0, 0, 0);
        for weight in weights.map(|w| u32::from(w.max(1))) {
            total += weight;
            smallest += weight / own;
            paths += 1;
        }
        let mean = total / own;
        Self { smallest, largest: mean + mean / 10 + 2, variation: paths - 1 }
    }
}

/// The highest number of a path before a restart, and how far the next one may be from it.
#[derive(Clone, Copy, Debug)]
struct BeforeRestart {
    highest: Sequence,
    reach: i32,
}

impl Path {
    /// A path that is not up.
    pub(in crate::reorder) fn new(weight: u16) -> Self {
        Self {
            up: false,
            seen: false,
            assumed: false,
            unspaced: false,
            missed: false,
            known: 0,
            in_block: 0,
            weight,
            highest: Sequence(0),
            highest_at: 0,
            passed_since: None,
            smallest: [u32::MAX; 2],
            largest: [0; 2],
            share: Share { smallest: 1, largest: 2, variation: 0 },
            renewed: None,
            lag: Lag::new(),
            patience: Patience::new(),
            before_restart: None,
        }
    }

    /// Forgets what it brought.
    pub(in crate::reorder) fn reset(&mut self, now: u64) {
        (self.seen, self.assumed, self.unspaced, self.missed) = (false, false, false, false);
        (self.highest_at, self.passed_since) = (now, None);
        self.renewed = None;
        self.reset_spacing();
        self.lag.reset();
        self.patience = Patience::new();
    }

    fn reset_spacing(&mut self) {
        (self.known, self.in_block) = (0, 0);
        (self.smallest, self.largest) = ([u32::MAX; 2], [0; 2]);
    }

    /// The peer restarts; to be called before [`Path::reset`].
    pub(in crate::reorder) fn note_restart(&mut self) {
        self.before_restart = self.is_evidence().then(|| BeforeRestart {
            highest: self.highest,
            reach: self.overdue().ahead_of(self.highest),
        });
    }

    /// True if a number belongs to the time before a restart: the path has not begun anew, and it is
    /// one of the next after the old ones, or nearer to them than to the one due now. In doubt the
    /// former, which costs a new packet its order; an old one in its place would cost it delivery.
    pub(in crate::reorder) fn continues_before_restart(
        &mut self,
        number: Sequence,
        due: Sequence,
    ) -> bool {
        let Some(old) = &mut self.before_restart else { return false };
        let ahead = number.ahead_of(old.highest);
        let nearer = ahead.unsigned_abs() < number.ahead_of(due).unsigned_abs();
        if ahead > 0 && (nearer || ahead <= old.reach) {
            old.highest = number;
            return true;
        }
        nearer
    }

    /// Takes note of the share of the numbers that the path has.
    pub(in crate::reorder) fn set_share(&mut self, share: Share) {
        self.share = share;
    }

    /// The path brought a number. Returns whether its highest number rose.
    #[inline]
    pub(in crate::reorder) fn observe(
        &mut self,
        number: Sequence,
        now: u64,
        max_delay: u64,
    ) -> bool {
        if !self.seen || self.assumed {
            self.before_restart = None;
            if !self.seen || number.is_after(self.highest) {
                self.begin(number, now);
                return true;
            }
            return false;
        }
        let ahead = number.ahead_of(self.highest);
        if ahead > 0 {
            if self.unspaced {
                self.unspaced = false;
            } else {
                self.space(ahead as u32);
            }
            self.missed = false;
            self.highest = number;
            self.highest_at = now;
            self.lag.advanced(number, now);
            return true;
        }
        ahead < 0 && self.inverted(number, now, max_delay)
    }

    fn begin(&mut self, number: Sequence, now: u64) {
        (self.seen, self.assumed, self.unspaced, self.missed) = (true, false, false, false);
        (self.highest, self.highest_at) = (number, now);
        self.lag.advanced(number, now);
    }

    /// True if a number below its highest is known to have been passed by it.
    #[inline]
    pub(in crate::reorder) fn is_evidence(&self) -> bool {
        self.seen && !self.assumed
    }

    /// The numbers begin behind `number`, or the path comes up when they are there. As long as it
    /// brings nothing, it might hold any number, and everything behind a lost one waits for it. For
    /// a path with one number in [`RARE`] or more that is out of all proportion: it is assumed that
    /// its first number comes after a whole spacing. If not, that one number may come late.
    pub(in crate::reorder) fn assume_rare(&mut self, number: Sequence, now: u64) {
        if self.up && !self.seen && self.share.smallest >= RARE {
            self.assume(number, now);
        }
    }

    fn assume(&mut self, highest: Sequence, now: u64) {
        (self.seen, self.assumed, self.unspaced, self.missed) = (true, true, true, false);
        (self.highest, self.highest_at, self.passed_since) = (highest, now, None);
    }

    #[inline]
    fn space(&mut self, spacing: u32) {
        self.smallest[0] = self.smallest[0].min(spacing);
        self.largest[0] = self.largest[0].max(spacing);
        self.known = self.known.saturating_add(1);
        self.in_block += 1;
        if self.in_block == BLOCK {
            self.in_block = 0;
            (self.smallest[1], self.largest[1]) = (self.smallest[0], self.largest[0]);
            (self.smallest[0], self.largest[0]) = (u32::MAX, 0);
        }
    }

    /// A number below the highest. If the path passed it longer ago than any packet may wait, the
    /// highest number was wrong (forged, or from before a restart), and it begins anew: otherwise
    /// it would be evidence against everything on its way until the numbers have caught up.
    #[cold]
    fn inverted(&mut self, number: Sequence, now: u64, max_delay: u64) -> bool {
        let below = self.highest.ahead_of(number) as u32;
        self.smallest[0] = self.smallest[0].min(below);
        let late = self.lag.inverted(number, self.highest, self.highest_at, now, max_delay);
        if late <= max_delay {
            return false;
        }
        self.reset_spacing();
        self.begin(number, now);
        true
    }

    /// Below this distance from its highest number the path cannot have another one.
    ///
    /// Returns the smallest spacing. The spacings seen last may miss it, since with weights 51:50
    /// it occurs once in 51 numbers. The weights give it if they are right, and then they are not
    /// far off.
    #[inline]
    pub(in crate::reorder) fn smallest_spacing(&self) -> u32 {
        let seen = self.smallest[0].min(self.smallest[1]);
        if self.known < ENOUGH {
            return seen.min(self.share.smallest);
        }
        seen.min(self.share.smallest.max(seen.saturating_sub(self.share.variation))).max(1)
    }

    #[inline]
    fn largest_spacing(&self) -> u32 {
        let seen = self.largest[0].max(self.largest[1]);
        if self.known < ENOUGH { seen.max(self.share.largest) } else { seen }
    }

    /// By this number the path should have brought another one.
    #[inline]
    pub(in crate::reorder) fn due(&self) -> Sequence {
        self.highest + self.largest_spacing().saturating_mul(2).min(1 << 20)
    }

    /// Returns the number of the other paths at which the clock of this path's silence starts.
    #[inline]
    pub(in crate::reorder) fn overdue(&self) -> Sequence {
        self.due() + SLACK
    }

    /// True if nothing is to be expected of it any longer.
    #[inline]
    pub(in crate::reorder) fn is_silent(&self, now: u64, max_delay: u64) -> bool {
        self.missed || now >= self.silent_from(max_delay)
    }

    /// Returns the time at which it will count as silent, as far as is known.
    #[inline]
    pub(in crate::reorder) fn silent_from(&self, max_delay: u64) -> u64 {
        self.passed_since.map_or(NEVER, |since| since.saturating_add(max_delay))
    }

    /// A packet of number `oldest` that came at `arrival` has waited the maximum delay in vain for
    /// `due`. If that is this path's fault, it is silent from now on.
    pub(in crate::reorder) fn expired(&mut self, due: Sequence, oldest: Sequence, arrival: u64) {
        let at_fault = if self.seen {
            due.ahead_of(self.highest) >= self.smallest_spacing() as i32
                && oldest.is_after(self.due())
        } else {
            self.highest_at <= arrival
        };
        self.missed |= self.up && at_fault;
    }

    /// Returns the time at which the path passed `number`, and how far it had come then.
    pub(in crate::reorder) fn passed(&self, number: Sequence) -> (Sequence, u64) {
        self.lag.passed(number, self.highest, self.highest_at)
    }

    /// From `first` on other weights hold, and `number`, the next one to be observed, belongs to
    /// them or comes after them: what was measured before says nothing about it.
    pub(in crate::reorder) fn renew(&mut self, first: Sequence) {
        if self.renewed != Some(first) {
            self.renewed = Some(first);
            self.reset_spacing();
            // The spacing from the last number of the old weights belongs to neither.
            self.unspaced = true;
        }
    }

    /// The number due has reached `first`, from which on the path has its present share.
    pub(in crate::reorder) fn reweigh(&mut self, first: Sequence, now: u64) {
        let passed = self.seen && !self.assumed && !first.is_after(self.highest);
        if passed {
            if self.renewed != Some(first) {
                self.renewed = Some(first);
                self.reset_spacing();
            }
        } else {
            self.reset_spacing();
            self.renewed = Some(first);
            self.assume(first - self.share.smallest, now);
        }
    }
}
