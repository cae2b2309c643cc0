//! The judgement whether the number due is lost, by the packets that the paths have delivered
//! since.
//!
//! - A path that has **passed** the number (brought a higher one) cannot bring it any more, once it
//!   has been past it for its *lag*, the time by which its numbers come late (`paths/lag.rs`; 0 if it is
//!   first-in-first-out). Until then it may.
//! - A path **cannot hold** the number if that is nearer to its highest one than the smallest spacing
//!   between two of its numbers. So a path of weight 1 beside one of 10,000 stalls it once in 10,000.
//! - A path that is **overdue** has had more time for the number, since a higher one came, than it
//!   has lately ever been behind the others (`paths/patience.rs`): it says nothing.
//! - A **silent** path says nothing: a packet has waited the maximum delay for one of its numbers in
//!   vain, or the others have been well past what it should have brought for as long.
//! - Otherwise it **may still bring it**.
//!
//! The number is lost when no path may still bring it and at least one has passed it. Then the next
//! number is judged afresh: to go on to the next packet that is there would give up numbers that are
//! merely on their way.
//!
//! Two choices that may surprise. A path within its lag holds up the judgement even if another one
//! is past its own: with jitter on one path and none on the other, 40 % of the packets would come
//! late otherwise. And what a path is given at the least between two of its numbers is computed from
//! the weights as well as measured, because with weights 51:50 the smallest spacing occurs once in
//! 51 numbers; the weights are only believed if they fit what is measured, since the sender's may
//! have changed without notice.

use crate::reorder::clock::NEVER;
use crate::reorder::paths::path::{Path, Share};
use crate::sequence::Sequence;

/// Announcements that may be outstanding; with more, the oldest takes effect at once.
const MAX_ANNOUNCED: usize = 64;

/// The paths of a connection, as far as the receive window is concerned.
#[derive(Debug)]
#[repr(C)] // kept small, see `ReorderBuffer`
pub(in crate::reorder) struct Evidence {
    paths: Vec<Path>,
    /// Highest number of all paths.
    top: Sequence,
    /// The number up to which nothing has to be noted about silent paths.
    watch: Sequence,
    max_delay: u64,
    /// Announcements that have not taken effect, if there are any.
    changes: Option<Box<Changes>>,
    begun: bool,
    /// The path the window waited for last, the first to be asked. Mostly it is the slowest path,
    /// and then no other has to be looked at.
    suspect: u32,
}

/// Announcements in ascending order of their first numbers; never empty.
#[derive(Debug, Default)]
struct Changes {
    announced: Vec<Announced>,
}

/// The sender's weights change.
#[derive(Clone, Copy, Debug)]
struct Announced {
    first: Sequence,
    path: usize,
    weight: u16,
}

/// The judgement about the number due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::reorder) enum Judgement {
    /// It is lost, and so are those after it that did not come, up to but without this number.
    Lost { before: Sequence },
    /// Wait, until this path brings something (without a path: any) or until this time.
    Wait { path: Option<usize>, until: u64 },
}

impl Evidence {
    pub(in crate::reorder) const fn new() -> Self {
        Self {
            paths: Vec::new(),
            top: Sequence(0),
            watch: Sequence(0),
            max_delay: 0,
            changes: None,
            begun: false,
            suspect: 0,
        }
    }

    pub(in crate::reorder) fn set_max_delay(&mut self, max_delay: u64) {
        self.max_delay = max_delay;
    }

    /// Adds a path, or replaces the one of this index. It is up.
    pub(in crate::reorder) fn add(&mut self, now: u64, path: usize, weight: u16) {
        // Most connections never have more paths than at their beginning.
        self.paths.reserve_exact((path + 1).saturating_sub(self.paths.len()));
        while self.paths.len() <= path {
            self.paths.push(Path::new(1));
        }
        self.paths[path] = Path::new(weight);
        self.up(now, path);
    }

    /// The path comes up, with empty statistics. No change if it is up.
    pub(in crate::reorder) fn up(&mut self, now: u64, path: usize) {
        if let Some(p) = self.paths.get_mut(path).filter(|p| !p.up) {
            p.up = true;
            p.reset(now);
            self.set_shares();
            if self.begun {
                self.paths[path].assume_rare(self.top, now);
            }
            self.watch = self.top; // the next packet of another path starts its clock
        }
    }

    /// Expects nothing more of the path, whatever was announced for it and has not taken effect.
    pub(in crate::reorder) fn down(&mut self, path: usize) {
        let announced = self.changes.as_ref().map_or(&[][..], |it| &it.announced);
        let weight = announced.iter().rev().find(|it| it.path == path).map(|it| it.weight);
        self.withdraw(path);
        if let Some(p) = self.paths.get_mut(path) {
            p.up = false;
            p.weight = weight.filter(|&weight| weight > 0).unwrap_or(p.weight);
            self.set_shares();
        }
    }

    pub(in crate::reorder) fn set_weight(&mut self, path: usize, weight: u16) {
        if let Some(p) = self.paths.get_mut(path) {
            p.weight = weight;
            self.set_shares();
        }
    }

    /// Delays on the path have differed by so much.
    pub(in crate::reorder) fn set_jitter(&mut self, path: usize, jitter: u64) {
        if let Some(p) = self.paths.get_mut(path) {
            p.lag.expect(jitter);
        }
    }

    /// From the number `first` on the path has another weight, 0 for none of the numbers.
    pub(in crate::reorder) fn announce(
        &mut self,
        now: u64,
        first: Sequence,
        path: usize,
        weight: u16,
    ) {
        if let Some(changes) = &self.changes
            && changes.announced.len() == MAX_ANNOUNCED
        {
            self.take_effect(changes.announced[0].first, now);
        }
        let changes = self.changes.get_or_insert_default();
        let place = changes.announced.partition_point(|a| !a.first.is_after(first));
        changes.announced.insert(place, Announced { first, path, weight });
    }

    /// Withdraws announcements for the path that have not taken effect.
    pub(in crate::reorder) fn withdraw(&mut self, path: usize) {
        if let Some(changes) = &mut self.changes {
            changes.announced.retain(|announced| announced.path != path);
            if changes.announced.is_empty() {
                self.changes = None;
            }
        }
    }

    /// Forgets what the paths brought, because the numbers begin elsewhere.
    pub(in crate::reorder) fn reset(&mut self, now: u64) {
        self.begun = false;
        for p in &mut self.paths {
            p.reset(now);
        }
    }

    /// Forgets the announcements as well, because the peer begins anew.
    pub(in crate::reorder) fn restart(&mut self, now: u64) {
        self.changes = None;
        for p in &mut self.paths {
            p.note_restart();
        }
        self.reset(now);
    }

    /// True if the path, which brought nothing new since a restart, goes on with its old numbers.
    pub(in crate::reorder) fn continues_before_restart(
        &mut self,
        path: usize,
        number: Sequence,
        due: Sequence,
    ) -> bool {
        let Some(p) = self.paths.get_mut(path) else { return false };
        p.continues_before_restart(number, due)
    }

    /// A packet came.
    #[inline]
    pub(in crate::reorder) fn observe(&mut self, now: u64, path: usize, number: Sequence) {
        if !self.begun {
            self.begun = true;
            (self.top, self.watch) = (number, number);
            for p in &mut self.paths {
                p.assume_rare(number - 1, now);
            }
        }
        if number.is_after(self.top) {
            self.top = number;
            if number.is_after(self.watch) {
                self.note_overdue(now);
            }
        }
        if self.changes.is_some() {
            self.renew(path, number);
        }
        let Some(p) = self.paths.get_mut(path) else { return };
        if p.observe(number, now, self.max_delay) {
            let overdue = p.overdue();
            if self.top.is_after(overdue) {
                // The time at which a higher number came is not remembered, so the clock starts now.
                p.passed_since = Some(now);
            } else {
                p.passed_since = None;
                self.watch = self.watch.earlier(overdue);
            }
        }
    }

    /// The path brought the number due, after a higher one had come at `overtaken`.
    #[inline]
    pub(in crate::reorder) fn note_behind(&mut self, now: u64, path: usize, overtaken: u64) {
        if let Some(p) = self.paths.get_mut(path) {
            p.patience.note(now, now.saturating_sub(overtaken));
        }
    }

    /// The path brought `number`, which had been given up. If it is the path's highest one, no lag
    /// of the path explains that.
    pub(in crate::reorder) fn note_late(&mut self, now: u64, path: usize, number: Sequence) {
        if let Some(p) = self.paths.get_mut(path)
            && p.highest == number
        {
            p.patience.too_short(now, self.max_delay);
        }
    }

    /// The judgement about `due`, which is missing while a higher number is there since `overtaken`.
    pub(in crate::reorder) fn judge(
        &mut self,
        now: u64,
        due: Sequence,
        overtaken: u64,
    ) -> Judgement {
        self.take_effect(due, now);
        let count = self.paths.len();
        let first = self.suspect as usize;
        let mut proven = false;
        let mut before = u32::MAX;
        for k in 0..count {
            let i = first + k;
            let i = if i < count { i } else { i - count };
            let p = &mut self.paths[i];
            if !p.up {
                continue;
            }
            // The distance from the path's highest number to the one that is due, negative if the path has passed it.
            let beyond = due.ahead_of(p.highest);
            let spacing = p.smallest_spacing().cast_signed();
            if beyond < 0 && p.is_evidence() {
                let lag = p.lag.value(now);
                let (passed, at) = if lag == 0 { (p.highest, 0) } else { p.passed(due) };
                let ready = at + lag;
                if lag != 0 && now < ready {
                    self.suspect = i as u32;
                    return Judgement::Wait { path: Some(i), until: ready };
                }
                proven = true;
                before = before.min(passed.ahead_of(due).cast_unsigned());
            } else if p.seen && beyond < spacing {
                // The highest may be as far away as a number can be: after a peer, or somebody else, has sent any numbers.
                before = before.min(spacing.saturating_sub(beyond).cast_unsigned());
            } else if !p.is_silent(now, self.max_delay) {
                let lag = p.lag.doubt(now);
                let patience = p.patience.wait().map_or(NEVER, |wait| overtaken + wait + lag);
                if now < patience {
                    let until = p.silent_from(self.max_delay).min(patience);
                    self.suspect = i as u32;
                    return Judgement::Wait { path: Some(i), until };
                }
                // The wait has ended for this number alone. The numbers behind it were overtaken later.
                before = before.min(1);
            }
        }
        if proven {
            let next_change = self
                .changes
                .as_ref()
                .map_or(u32::MAX, |c| c.announced[0].first.ahead_of(due).unsigned_abs());
            Judgement::Lost { before: due + before.min(next_change) }
        } else {
            Judgement::Wait { path: None, until: NEVER }
        }
    }

    /// The packet `oldest` that came at `arrival` has waited the maximum delay for `due` in vain.
    pub(in crate::reorder) fn expired(&mut self, due: Sequence, oldest: Sequence, arrival: u64) {
        for p in &mut self.paths {
            p.expired(due, oldest, arrival);
        }
    }

    /// Announcements take effect when the number due has reached them.
    #[inline]
    fn take_effect(&mut self, due: Sequence, now: u64) {
        if let Some(mut changes) = self.changes.take() {
            while let Some(first) =
                changes.announced.first().map(|a| a.first).filter(|first| !first.is_after(due))
            {
                self.change(&mut changes.announced, first, now);
            }
            if !changes.announced.is_empty() {
                self.changes = Some(changes);
            }
        }
    }

    /// Lets the announcement for the number `first` take effect.
    #[cold]
    fn change(&mut self, announced: &mut Vec<Announced>, first: Sequence, now: u64) {
        let together = announced.partition_point(|a| !a.first.is_after(first));
        for a in announced.drain(..together) {
            let Some(p) = self.paths.get_mut(a.path) else { continue };
            if a.weight == 0 {
                p.up = false;
                continue;
            }
            p.weight = a.weight;
            if !p.up {
                p.up = true;
                p.reset(now);
            }
        }
        // One path's weight is every path's share.
        self.set_shares();
        for p in self.paths.iter_mut().filter(|p| p.up) {
            p.reweigh(first, now);
        }
        self.watch = self.top;
    }

    /// A path brings the first number of announced weights.
    #[cold]
    fn renew(&mut self, path: usize, number: Sequence) {
        let Some(changes) = &self.changes else { return };
        let reached = changes.announced.partition_point(|a| !a.first.is_after(number));
        let Some(a) = changes.announced[..reached].last() else { return };
        if let Some(p) = self.paths.get_mut(path) {
            p.renew(a.first);
        }
    }

    fn set_shares(&mut self) {
        for i in 0..self.paths.len() {
            // The path itself counts even if it is about to come up.
            let counts = |&(j, p): &(usize, &Path)| j == i || p.up;
            let weights = self.paths.iter().enumerate().filter(counts).map(|(_, p)| p.weight);
            let share = Share::new(self.paths[i].weight, weights);
            self.paths[i].set_share(share);
        }
    }

    /// Starts the clock of every path that the others have left behind.
    #[cold]
    fn note_overdue(&mut self, now: u64) {
        self.watch = self.top + (1 << 30);
        for p in self.paths.iter_mut().filter(|p| p.up && p.passed_since.is_none()) {
            if !p.seen || self.top.is_after(p.overdue()) {
                p.passed_since = Some(now);
            } else {
                self.watch = self.watch.earlier(p.overdue());
            }
        }
    }
}
