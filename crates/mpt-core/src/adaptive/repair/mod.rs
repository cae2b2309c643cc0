//! Repair: lost packets are sent again. The sender judges by what the peer reports as missing, and
//! by the path that it used.
//!
//! A number is lost if its path has delivered a packet that left later, or if it is overdue by the
//! path's delay; `docs/repair.md` has the arithmetic. It is sent again at once over the path that
//! is most likely to deliver it in time, ahead of the queue, and charged to the pacer of that path.

mod judge;
pub(super) mod keep;
mod refusals;
pub(super) mod state;
mod urgent;

use std::time::{Duration, Instant};

use smallvec::SmallVec;

pub(crate) use self::judge::Lack;
use self::keep::{AGE, Kept};
use self::state::{Repairs, State};
use super::path::{Kind, Role, path_in};
use super::role::tcp_rate;
use super::{Adaptive, Surveyed, Tag};
use crate::path::feedback::Ranges;
use crate::sequence::Sequence;

/// Time by which packets that were kept too long are forgotten later, in microseconds, so that many
/// are forgotten at once.
const SLACK: i64 = 100_000;
/// Time after which a refused repair is tried again, in microseconds.
const AFTER_REFUSAL: i64 = 20_000;
/// The most often that a number is sent again.
const TRIES: u8 = 3;
/// Bytes that repairs may use before losses or traffic have added to them. They pay for second
/// tries of the first packets of a flow, on each of which slow start depends.
const ALLOWANCE: f64 = 16_000.0;
/// Bytes of the budget that copies of repairs leave to second tries.
const RESERVE: f64 = 8_000.0;
/// Time for which packets are kept after a loss, in microseconds. A link that has lost a packet
/// mostly loses more.
const REMEMBERED: i64 = 600_000_000;
/// Time for which losses count as possible after the last reason for it, in microseconds. A path on
/// trial comes and goes, and without this time the hold of the inner flow would come and go with
/// it.
const LINGERS: i64 = 2_000_000;
/// Time for which a path counts as one on which packets overtake one another after it was, in
/// microseconds.
const OVERTAKES: i64 = 20_000_000;
/// The number of counted packets below which a path may lose packets, whatever it has shown.
const KNOWN: u32 = 1_000;
/// The share of lost packets below which a path counts as one without loss.
const LITTLE: f64 = 0.000_5;
/// Time for which a path has to lose more than [`LITTLE`] to count as lossy, in microseconds. A
/// queue that overflows loses many packets at once, and the cut that follows ends it.
const STAYS: i64 = 500_000;
/// Packets of a path within which a bottleneck would have shown itself.
const BEGINNING: u32 = 20_000;
/// Time without a packet after which an end mark is sent for a path, in microseconds.
const QUIET: i64 = 5_000;
/// Time by which a repair may leave before its path has credit, in microseconds. Without it, bulk that keeps the best path busy would send repairs
/// over a worse path, or later than the receiver waits.
const ADVANCE: i64 = 5_000;
/// Tries that are in time where there is one path. Each takes a round-trip time.
const TRIES_ALONE: u32 = 2;
/// Tries that are in time where there are more paths. There a repair over a lossy path leaves over
/// another one as well.
const TRIES_TOGETHER: u32 = 1;
/// The allowance that is added to the round-trip time of each try.
const HELD_MORE: Duration = Duration::from_millis(2);
/// The round-trip time below which, on all paths, bulk is not held for repairs. TCP recovers quickly
/// there from a loss, and a hold would be many times as long as that takes.
pub(crate) const QUICK: Duration = Duration::from_millis(5);
/// The loss from which a flow over quick paths recovers by itself, unless they deliver more than it
/// reaches then.
const ENDURED: f64 = 0.1;
/// The time that queues, jitter and the wait for the next report take besides, in round-trip times:
/// [`SLACK_SHORT`] of them up to [`SLACK_MOST`], or [`SLACK_LONG`] of them where that is more.
const SLACK_SHORT: f64 = 3.0;
const SLACK_MOST: Duration = Duration::from_millis(35);
const SLACK_LONG: f64 = 0.45;

/// A packet that is to be sent again.
#[derive(Debug)]
pub(crate) struct Resend {
    pub(crate) number: u32,
    pub(crate) kept: Kept,
    pub(crate) tag: Tag,
    pub(crate) slots: SmallVec<[u16; 4]>,
}

/// A path that may take a repair.
#[derive(Clone, Copy, Debug)]
struct Way {
    slot: u16,
    /// True if the repair arrives after the receiver has stopped waiting.
    late: bool,
    /// The logarithm of the path's loss to the base of four, rounded; 0 where the repair is late.
    class: i32,
    /// The time at which the repair arrives, in microseconds.
    comes: f64,
    /// The time at which the path has credit, in microseconds.
    next: i64,
}

/// Returns how long the receiver holds packets for a repair, from the round-trip time of the
/// quickest path and the number of paths.
pub(crate) fn held(rtt: Duration, paths: usize) -> Duration {
    let round = rtt + HELD_MORE;
    let queues = round.mul_f64(SLACK_SHORT).min(SLACK_MOST).max(round.mul_f64(SLACK_LONG));
    let tries = if paths > 1 { TRIES_TOGETHER } else { TRIES_ALONE };
    round * tries + queues
}

/// Returns [`held`] in microseconds, 0 without a path.
fn held_micros(rtt: f64, paths: usize) -> f64 {
    if !rtt.is_finite() {
        return 0.0;
    }
    held(Duration::from_secs_f64(rtt / 1e6), paths).as_secs_f64() * 1e6
}

impl Adaptive {
    /// Sets whether lost packets are sent again.
    pub(crate) fn set_repair(&mut self, on: bool) {
        if self.repairs.on != on {
            let (unknown, mut refusals) =
                (self.repairs.unknown, std::mem::take(&mut self.repairs.refusals));
            refusals.clear();
            let tokens = ALLOWANCE;
            self.repairs =
                Repairs { on, keeping: on, tokens, unknown, refusals, ..Repairs::default() };
            self.keeper.forget_all();
        }
    }

    /// Returns true if this end is configured to send lost packets again.
    pub(crate) fn is_repairing(&self) -> bool {
        self.repairs.on
    }

    /// Takes the result of a survey of a path. Before there is data nothing else is known of it.
    pub(crate) fn set_surveyed(&mut self, now: Instant, slot: usize, surveyed: &Surveyed) {
        let now = self.micros(now);
        let Some(Some(path)) = self.paths.get_mut(slot) else { return };
        // Half of the losses are taken to be in each direction.
        path.surveyed = Some(f64::from(surveyed.lost) / f64::from(surveyed.probes) / 2.0);
        path.surveyed_variation = surveyed.variation;
        if let Some(capacity) = surveyed.capacity {
            path.model.foretell(capacity);
        }
        if path.kind == Kind::Unknown {
            path.kind = match surveyed.lost {
                0 => Kind::Clean,
                1 => Kind::Unknown,
                _ => Kind::Lossy,
            };
        }
        if self.reach.rests() {
            self.assign_roles(now);
            self.reorder_paths();
        }
        self.update_keeping(now);
    }

    /// Returns true if lost packets are sent again, which takes a peer that reports what is
    /// missing.
    pub(super) fn repairs_losses(&self) -> bool {
        self.repairs.on && self.repairs.heard
    }

    /// Returns how long the inner flow waits for repairs, in microseconds.
    pub(super) fn repair_wait(&self) -> f64 {
        if !self.is_keeping() || !self.may_lose() {
            return 0.0;
        }
        self.repair_wait_over(self.in_use())
    }

    /// Returns how long the inner flow waits for repairs where these paths carry it and one of them loses packets, in microseconds.
    pub(super) fn repair_wait_over<'a>(
        &self,
        paths: impl Iterator<Item = &'a super::path::Sender>,
    ) -> f64 {
        if !self.repairs_losses() || !self.is_far() {
            return 0.0;
        }
        let rtt = paths.map(|path| path.model.rtt()).fold(f64::INFINITY, f64::min);
        held_micros(rtt, self.order.len())
    }

    /// Returns true while packets that leave are kept, because losses were seen recently or are not
    /// known yet.
    #[inline]
    pub(crate) fn is_keeping(&self) -> bool {
        self.repairs.keeping
    }

    /// Returns the lowest number that may be sent again, and the share of packets that the worst
    /// path in use has lost, in 65,535ths, or 1 where that is not known yet. Returns `None` while
    /// nothing is kept.
    pub(crate) fn kept_from(&self) -> Option<(u32, u16)> {
        let from = self.keeper.from().unwrap_or(self.next_number);
        let worst = self.in_use().map(|path| path.loss()).fold(0.0, f64::max);
        let least = u16::from(self.may_lose());
        let loss = (worst * f64::from(u16::MAX)).ceil() as u16;
        let loss = if self.is_far() { loss.max(least) } else { 0 };
        self.repairs.keeping.then_some((from, loss))
    }

    /// Returns the lowest number that may be sent again; `None` while nothing is kept.
    #[inline]
    pub(crate) fn repeats_from(&self) -> Option<u32> {
        self.is_keeping().then(|| self.keeper.from().unwrap_or(self.next_number))
    }

    /// Forgets all packets that have left, so that none of them is sent again.
    pub(crate) fn forget_kept(&mut self) {
        self.keeper.forget_all();
    }

    pub(super) fn in_use(&self) -> impl Iterator<Item = &super::path::Sender> {
        self.paths.iter().flatten().filter(|path| path.role.carries_bulk())
    }

    /// Returns true if a path in use has lost packets recently, or if a path that is or may soon be
    /// in use has not shown yet that it loses none.
    fn may_lose(&self) -> bool {
        self.repairs.lingers || self.may_lose_now()
    }

    /// Returns true if paths lose packets, and none of these is in use.
    fn has_left_lossy(&self) -> bool {
        let lossy = |path: &super::path::Sender| path.kind == Kind::Lossy;
        self.paths.iter().flatten().any(lossy) && !self.in_use().any(lossy)
    }

    fn may_lose_now(&self) -> bool {
        // A hold that changes in slow start ends it, so a flow begins with the one for repairs if any
        // of its paths may need them.
        let begins = self.bulk == 0 || self.reach.rests();
        let unknown = |slot: &u16| {
            let path = self.paths.get(usize::from(*slot)).and_then(Option::as_ref);
            let unproved = |path: &super::path::Sender| {
                begins && path.role != Role::Aside && path.kind != Kind::Clean
            };
            path.is_some_and(|path| path.may_lose() || unproved(path))
        };
        self.repairs.loss_at.is_some() || self.order.iter().any(unknown)
    }

    /// Takes the numbers that the peer is to be told will not arrive.
    pub(crate) fn take_refusals(&mut self) -> Ranges {
        self.repairs.refusals.take()
    }

    /// Returns how many numbers were refused to the peer. A number that was refused twice counts
    /// twice.
    pub(crate) fn refusals_told(&self) -> u64 {
        self.repairs.refusals.told()
    }

    /// Gives up a number that is being repaired. The peer is told when it asks for the number
    /// again.
    fn give_up(&mut self, number: u32) {
        if let Ok(lost) = self.repairs.find(Sequence(number)) {
            lost.state = State::GivenUp;
        }
    }

    /// Returns how many numbers the peer asked for in vain.
    pub(crate) fn asked_in_vain(&self) -> u64 {
        self.repairs.unknown
    }

    /// Returns true unless all paths are so quick that TCP itself makes up for an overflow.
    fn is_far(&self) -> bool {
        self.paths.iter().flatten().any(|path| path.model.rtt() >= QUICK.as_micros() as f64)
    }

    /// Returns true if the paths in use have delivered more than a flow over them reaches where
    /// [`ENDURED`] of its packets are lost.
    fn outruns_tcp(&self) -> bool {
        let delivered: f64 = self.in_use().map(|path| 8.0 * path.model.most_delivered()).sum();
        let rtt = self.in_use().map(|path| path.model.rtt()).fold(0.0, f64::max);
        delivered > tcp_rate(rtt, ENDURED)
    }

    /// Decides whether what leaves from now on is kept.
    pub(super) fn update_keeping(&mut self, now: i64) {
        for (slot, path) in self.paths.iter_mut().enumerate() {
            let Some(path) = path else { continue };
            if path.model.sigma() > 0.0 {
                path.overtaken_at = Some(now);
            }
            path.overtaken_at = path.overtaken_at.filter(|&at| now - at < OVERTAKES);
            let (counted, loss) = path.model.loss();
            let lossy = loss > LITTLE;
            path.lossy_since = if lossy { path.lossy_since.or(Some(now)) } else { None };
            // Fewer losses may be those of an overflowing queue that the model has not noticed yet.
            if counted >= KNOWN && !lossy {
                path.kind = Kind::Clean;
            } else if counted >= KNOWN && path.lossy_since.is_some_and(|at| now - at >= STAYS) {
                path.kind = Kind::Lossy;
            }
            let in_use = path.role != Role::Aside && self.order.contains(&(slot as u16));
            if in_use && path.kind == Kind::Lossy {
                self.repairs.loss_at = Some(now);
            }
        }
        self.repairs.loss_at = self.repairs.loss_at.filter(|&at| now - at < REMEMBERED);
        let left_lossy = self.has_left_lossy();
        if left_lossy {
            self.repairs.loss_at = None;
        }
        if self.may_lose_now() {
            self.repairs.possible_at = now;
        } else if left_lossy || self.reach.rests() {
            // No flow is held yet that would notice the change, or it is to be held for less.
            self.repairs.possible_at = now - LINGERS;
        }
        self.repairs.lingers = now - self.repairs.possible_at < LINGERS;
        // Slow start depends on each of the first packets, of which nobody knows yet whether they are
        // lost.
        let begins = || self.in_use().any(|path| path.packets < BEGINNING);
        // One of several quick paths may carry everything, so that the others never get that far.
        let all_begin = || self.in_use().all(|path| path.packets < BEGINNING);
        // Packets that overflow are repaired like those that are lost at random, since the inner
        // flow gets its congestion signal from its own queue.
        let may_overflow = || self.in_use().any(|path| path.model.is_bottleneck());
        let has_lost = |path: &super::path::Sender| {
            path.repairs.lost as f64 > LITTLE * f64::from(path.packets)
        };
        let worthwhile = self.repairs.loss_at.is_some()
            || match self.is_far() {
                true => begins() || may_overflow() || self.may_lose(),
                false => self.outruns_tcp() && (all_begin() || self.in_use().any(has_lost)),
            };
        self.repairs.keeping = self.repairs.on && worthwhile;
        if !self.repairs.keeping {
            self.keeper.forget_all();
        }
    }

    /// Returns the next packet that is sent again, if a path has credit for it. A number that cannot be
    /// sent again, since `can_repeat` is false for it, is given up.
    pub(crate) fn take_repair(
        &mut self,
        now: Instant,
        mut can_repeat: impl FnMut(u32) -> bool,
    ) -> Option<Resend> {
        let now = self.micros(now);
        while let Some(&number) = self.repairs.pending.front() {
            let Ok(&mut lost) = self.repairs.find(Sequence(number)) else {
                self.repairs.pending.pop_front();
                continue;
            };
            let kept = self.keeper.find(number);
            let Some((kept, tag)) = kept.and_then(|it| Some((it, self.keeper.tag(it.packet)?)))
            else {
                self.repairs.pending.pop_front();
                self.give_up(number);
                continue;
            };
            if !can_repeat(number) {
                self.repairs.pending.pop_front();
                self.give_up(number);
                continue;
            }
            let ways = self.ways(now, lost.left, tag.protocol == mpt_wire::gre::Protocol::IPV6);
            let soon = |way: &&Way| way.next <= now + ADVANCE;
            let Some(&Way { slot: best, .. }) = ways.iter().find(soon) else {
                let next = ways.iter().map(|way| way.next).min();
                self.repairs.blocked_until =
                    next.map_or(now + SLACK, |it| it - ADVANCE).max(now + 1);
                return None;
            };
            let twice =
                (lost.tries >= 1 || self.may_lose_a_repair(best)) && self.may_copy(kept.bytes);
            let others =
                ways.iter().filter(|way| twice && way.slot != best && way.next <= now).take(1);
            let chosen: SmallVec<[u16; 4]> =
                std::iter::once(best).chain(others.map(|way| way.slot)).collect();
            self.repairs.pending.pop_front();
            let mut slots = SmallVec::new();
            for slot in chosen {
                if self.resend(now, slot, number, kept.bytes) {
                    slots.push(slot);
                }
            }
            let again_in_time = || {
                let comes = ways.iter().map(|way| way.comes).fold(f64::INFINITY, f64::min);
                comes + AFTER_REFUSAL as f64 <= self.due(lost.left)
            };
            let state = match slots.first() {
                Some(&slot) => State::Sent { slot: Some(slot), time: now },
                None if again_in_time() => State::Refused { until: now + AFTER_REFUSAL },
                None => State::GivenUp,
            };
            if slots.is_empty()
                && let Some(path) = path_in(&mut self.paths, lost.slot)
            {
                path.repairs.refused += 1;
            }
            if let Ok(lost) = self.repairs.find(Sequence(number)) {
                lost.tries += u8::from(!slots.is_empty());
                lost.state = state;
            }
            if !slots.is_empty() {
                return Some(Resend { number, kept, tag, slots });
            }
        }
        None
    }

    /// Returns true unless a path is known to lose next to nothing. There is time for one try, so that a repair over any
    /// other path leaves over a second one, too.
    fn may_lose_a_repair(&self, slot: u16) -> bool {
        let path = self.path_at(slot);
        path.is_none_or(|path| path.kind != Kind::Clean || path.loss() > LITTLE)
    }

    /// Returns the paths that may carry repairs.
    fn ways_in_use(&self) -> impl Iterator<Item = (u16, &super::path::Sender)> {
        self.ordered().filter(|(_, path)| self.bulk == 0 || path.role.carries_bulk())
    }

    /// Returns the time until which a repair of a packet that left at `left` arrives in time, by the peer's clock.
    fn due(&self, left: i64) -> f64 {
        let latest = self.ways_in_use().map(|(_, path)| path.delay + path.margin());
        let hold = latest.fold(f64::NEG_INFINITY, f64::max);
        let rtt =
            self.ways_in_use().map(|(_, path)| path.model.rtt()).fold(f64::INFINITY, f64::min);
        left as f64 + hold + held_micros(rtt, self.order.len())
    }

    /// Returns the paths that may carry a repair of a packet that left at `left`, the best first.
    fn ways(&self, now: i64, left: i64, ipv6: bool) -> SmallVec<[Way; 4]> {
        let due = self.due(left);
        let mut ways: SmallVec<[Way; 4]> = self
            .ways_in_use()
            .filter(|(_, path)| path.ipv6 || !ipv6)
            .map(|(slot, path)| {
                let comes = now as f64 + path.delay + path.model.queue();
                let (_, loss) = path.model.loss();
                let class = ((loss + 0.001).ln() / 4_f64.ln()).round() as i32;
                let late = comes > due;
                let class = if late { 0 } else { class };
                Way { slot, late, class, comes, next: path.pacer.next() }
            })
            .collect();
        let class = |way: &Way| (way.late, way.class);
        ways.sort_by(|a, b| class(a).cmp(&class(b)).then(a.comes.total_cmp(&b.comes)));
        ways
    }

    /// Returns true if a copy of the first repair that waits leaves enough of the budget for this repair and each other one that waits. A
    /// number that is not sent again costs more than one that is sent over a single path.
    fn may_copy(&self, bytes: u32) -> bool {
        self.repairs.tokens - self.needed_by_repairs(bytes) >= RESERVE
    }

    /// Returns the bytes that each repair that waits takes, and one packet more, if all have this size.
    fn needed_by_repairs(&self, bytes: u32) -> f64 {
        let bytes = f64::from(bytes);
        self.repairs.waiting(bytes) + bytes
    }

    /// Sends a repair over a path. Returns false if repairs have used their whole share of the
    /// bytes.
    fn resend(&mut self, now: i64, slot: u16, number: u32, bytes: u32) -> bool {
        let waited = self.waited();
        let Some(Some(path)) = self.paths.get_mut(usize::from(slot)) else { return false };
        let size = bytes + path.overhead;
        if self.repairs.tokens < f64::from(size) {
            return false;
        }
        self.repairs.tokens -= f64::from(size);
        path.resend(now, (number, size), waited);
        true
    }

    /// Returns the time at which the next repair may leave, or a kept packet is to be forgotten.
    pub(super) fn next_repair(&self) -> Option<i64> {
        let repair = self.repairs.pending.front().map(|_| self.repairs.blocked_until);
        let expiry = self.keeper.oldest().map(|at| at + AGE + SLACK);
        let told = self.keeper.has_released().then_some(0);
        [repair, expiry, told, self.next_end_mark()].into_iter().flatten().min()
    }

    /// Forgets packets that were kept too long.
    pub(super) fn expire(&mut self, now: i64) {
        if self.keeper.oldest().is_some_and(|at| at + AGE + SLACK <= now) {
            self.keeper.forget_before(now - AGE);
        }
    }

    fn next_end_mark(&self) -> Option<i64> {
        let quiet = |path: &&super::path::Sender| path.last.is_some() && path.last != path.marked;
        let paths = self.paths.iter().flatten().filter(|_| self.repairs.keeping).filter(quiet);
        paths.map(|path| path.given_at + QUIET).min()
    }

    /// Returns true once for each time that a path has fallen quiet, when an end mark is due.
    pub(crate) fn take_end_mark(&mut self, now: Instant) -> bool {
        let now = self.micros(now);
        if self.next_end_mark().is_none_or(|at| at > now) {
            return false;
        }
        for path in self.paths.iter_mut().flatten() {
            if path.given_at + QUIET <= now {
                path.marked = path.last;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
