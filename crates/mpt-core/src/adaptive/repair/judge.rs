//! The judgement which of the numbers that the peer reports as missing are lost, and the lateness
//! that is learnt from those that arrive after all.

use std::time::Instant;

use smallvec::SmallVec;

use super::super::Adaptive;
use super::super::log::Sent;
use super::super::path::{Compared, path_in};
use super::keep::AGE;
use super::state::{Lost, State, Watched};
use super::{KNOWN, TRIES};
use crate::sequence::Sequence;

/// Numbers that are being repaired at a time.
const MOST: usize = 4_096;
/// Numbers that are judged by one report.
const JUDGED: u32 = 2_048;
/// Bytes that repairs may take for each byte that was lost: one try, and three tenths for copies of some tries and for second tries.
const PER_LOST: f64 = 1.3;
/// Bytes that repairs may take for each byte that was sent.
const PER_SENT: f64 = 0.002;
/// Standard deviations of a delay, above the least delays, after which a packet is not expected any more.
const DEVIATIONS: f64 = 4.7;
/// The deviations on a path that loses packets, where a packet that is so late is lost rather than late, and on one of which that is not known
/// yet: slow start depends on each of the first packets, and few of them are so late.
const DEVIATIONS_LOSSY: f64 = 3.8;
/// The share of lost packets above which [`DEVIATIONS_LOSSY`] counts.
const MUCH: f64 = 0.005;
/// The lateness that is expected of a path of unknown jitter, in microseconds.
const UNKNOWN_JITTER: f64 = 40_000.0;
/// The margin of a path that keeps the order of packets, in its thresholds.
const IN_ORDER: f64 = 3.0;
/// Missing numbers that are watched: the oldest, which are the latest to come.
const WATCHED: usize = 64;
/// Packets of a path after which those that are lost are compared with those that were held for lost.
const COMPARED: u32 = 500;
/// The least count of packets held for lost from which that comparison is drawn.
const FEW: u32 = 8;
/// The least lateness, in microseconds, of a path on which packets overtake one another.
const LEAST_LATENESS: f64 = 5_000.0;
/// The greatest lateness, in microseconds, of such a path.
const MOST_LATENESS: f64 = 320_000.0;

/// The numbers that the peer misses.
pub(crate) struct Lack<'a> {
    /// Tells one life of the peer's clock from another.
    pub(crate) clock: u32,
    /// The time of the report, by that clock in microseconds modulo 2^32.
    pub(crate) time: u32,
    /// The highest number that came on each path, by slot.
    pub(crate) highest: &'a [(u16, u32)],
    /// The missing numbers in ascending order, each with the first number and the count.
    pub(crate) missing: &'a [(u32, u16)],
    /// True if nothing else is missing up to the highest number of all.
    pub(crate) complete: bool,
}

impl Lack<'_> {
    /// Up to here everything that is not missing has come; `None` if nothing is known of that.
    fn covered(&self) -> Option<Sequence> {
        let last = self.missing.last().map(|&(first, count)| Sequence(first) + u32::from(count));
        let highest = self.highest.iter().map(|&(_, number)| Sequence(number));
        let highest = highest.reduce(|a, b| if b.is_after(a) { b } else { a });
        if self.complete { highest.map(Sequence::next) } else { last }
    }

    /// True if a number has not come.
    fn misses(&self, number: u32) -> bool {
        let number = Sequence(number);
        let after = |&(first, _): &(u32, u16)| !Sequence(first).is_after(number);
        let place = self.missing.partition_point(after);
        let range = place.checked_sub(1).and_then(|place| self.missing.get(place));
        range.is_some_and(|&(first, count)| number.is_before(Sequence(first) + u32::from(count)))
    }
}

impl Adaptive {
    /// The peer says what it misses.
    pub(crate) fn handle_missing(
        &mut self,
        now: Instant,
        lack: &Lack<'_>,
        can_repeat: &mut impl FnMut(u32) -> bool,
    ) {
        let now = self.micros(now);
        self.repairs.refusals.clear();
        for &(slot, number) in lack.highest {
            self.note_delivered(slot, number);
        }
        if !self.repairs.on {
            return;
        }
        self.repairs.heard = true;
        let sent = self.paths.iter().flatten().map(|path| path.bytes).sum::<u64>();
        let more = sent.saturating_sub(self.repairs.credited) as f64;
        self.repairs.credited = sent;
        self.repairs.grant(more * PER_SENT, 0.0);

        let at = self.peer.time_of(lack.clock, lack.time);
        let before = self.repairs.watched_at.filter(|&(clock, _)| clock == lack.clock);
        let before = before.map(|(_, before)| before);
        if at.zip(before).is_some_and(|(at, before)| at < before) {
            // It was overtaken by a later one, which says more.
            return;
        }
        self.learn_lateness(now, before, lack);
        self.settle(now, at, lack);
        let mut judged = 0;
        for &(first, count) in lack.missing {
            let (mut number, mut left) = (Sequence(first), i64::from(count));
            // It may be that no packet is kept, and that none was ever sent.
            let from = self.keeper.from().unwrap_or(self.next_number);
            let before = i64::from(Sequence(from).ahead_of(number)).clamp(0, left);
            for offset in 0..(before as u32).min(JUDGED - judged) {
                judged += 1;
                self.refuse_if_lost(at, number + offset);
            }
            (number, left) = (number + before as u32, left - before);
            let known = i64::from(Sequence(self.next_number).ahead_of(number)).clamp(0, left);
            self.repairs.unknown += (before + left - known).unsigned_abs();
            for offset in 0..known as u32 {
                if judged == JUDGED {
                    return;
                }
                judged += 1;
                self.judge(now, at, number + offset, can_repeat);
            }
        }
        self.watch(at, lack);
    }

    /// Learns the lateness of numbers that were missing at `before`, by the peer's clock, and have
    /// arrived without a repair. A number has to be missing for that much longer than its path's
    /// least delay before it counts as lost.
    fn learn_lateness(&mut self, now: i64, before: Option<i64>, lack: &Lack<'_>) {
        let watched = std::mem::take(&mut self.repairs.watched);
        if let (Some(at), Some(covered)) = (before, lack.covered()) {
            let came =
                |it: &&Watched| Sequence(it.number).is_before(covered) && !lack.misses(it.number);
            for &Watched { number, passed } in watched.iter().filter(came) {
                self.record_late(now, at, number, passed);
            }
        }
        self.repairs.watched = watched;
        self.repairs.watched.clear();
    }

    /// A number was still missing at `at`, by the peer's clock, and came then. If its path had
    /// `passed` it, the path does not keep the order of packets.
    fn record_late(&mut self, now: i64, at: i64, number: u32, passed: bool) {
        let Some(sent) = self.log.find(number) else { return };
        if sent.time < now - AGE || self.keeper.find(number).is_none() {
            // The peer no longer tells whether it has come.
            return;
        }
        let Some(path) = path_in(&mut self.paths, sent.slot) else { return };
        if passed {
            path.overtaken_at = Some(now);
        }
        if let Some(base) = path.model.base_delay() {
            let lateness = (at - sent.time) as f64 - base - path.model.queue();
            path.model.record_late(now, sent.time, lateness);
        }
    }

    /// Compares the losses that the peer's counters show with the packets that were judged to be lost. If far fewer are lost, packets overtake one
    /// another, and repairs arrived before the packets themselves. Only the same packets compare: while the rate doubles in each round-trip time, the
    /// latest packets are as many as all before.
    pub(in crate::adaptive) fn compare_losses(&mut self, now: i64, slot: usize, present: Compared) {
        let Some(Some(path)) = self.paths.get_mut(slot) else { return };
        let Some(former) = path.compared else {
            // The packets until now are those of no comparison.
            path.take_judged(present.last);
            path.compared = Some(present);
            return;
        };
        let sent = present.sent.wrapping_sub(former.sent);
        if sent < COMPARED {
            return;
        }
        path.compared = Some(present);
        let judged = path.take_judged(present.last);
        let lost = sent.saturating_sub(present.came.wrapping_sub(former.came));
        // Counters that run backwards look like billions of losses.
        if judged >= FEW && judged > lost.saturating_mul(2) {
            let lateness = (2.0 * path.model.lateness()).clamp(LEAST_LATENESS, MOST_LATENESS);
            path.model.record_late(now, now, lateness);
            path.overtaken_at = Some(now);
        }
    }

    /// Remembers the oldest of what is missing and does not count as lost.
    fn watch(&mut self, at: Option<i64>, lack: &Lack<'_>) {
        self.repairs.watched_at = at.map(|at| (lack.clock, at));
        for &(first, count) in lack.missing {
            for offset in 0..count {
                if self.repairs.watched.len() == WATCHED {
                    return;
                }
                let number = first.wrapping_add(u32::from(offset));
                if self.repairs.find(Sequence(number)).is_err() {
                    let passed = self.log.find(number).is_some_and(|sent| {
                        let path =
                            sent.slot.and_then(|slot| self.paths[usize::from(slot)].as_ref());
                        path.is_some_and(|path| path.has_passed(Some(Sequence(number)), sent.time))
                    });
                    self.repairs.watched.push(Watched { number, passed });
                }
            }
        }
    }

    /// A path has delivered a number.
    fn note_delivered(&mut self, slot: u16, number: u32) {
        let Some(sent) = self.sent(slot, number) else { return };
        let Some(Some(path)) = self.paths.get_mut(usize::from(slot)) else { return };
        // One that was sent again over the same path says nothing about what left after the first time.
        if path.has_resent(number) {
            return;
        }
        let (time, before) = path.delivered.unwrap_or((i64::MIN, number));
        if (sent.time, Sequence(number).ahead_of(Sequence(before))) > (time, 0) {
            path.delivered = Some((sent.time, number));
        }
    }

    /// Forgets what has come, and what is too old.
    fn settle(&mut self, now: i64, at: Option<i64>, lack: &Lack<'_>) {
        self.keeper.forget_before(now - AGE);
        let Some(covered) = lack.covered() else { return };
        let first = lack.missing.first().map_or(covered, |&(first, _)| Sequence(first));
        self.keeper.forget_below(first.earlier(covered).0);
        let paths = &mut self.paths;
        // Before a repair can have come, over whichever path, it was the packet itself.
        let least = paths.iter().flatten().filter_map(|path| path.model.least_delay());
        let least = least.reduce(f64::min);
        let mut late: SmallVec<[u32; 8]> = SmallVec::new();
        let mut ranges = lack.missing.iter().copied().peekable();
        self.repairs.lost.retain(|lost| {
            let ends_before = |&(first, count): &(u32, u16)| {
                !(Sequence(first) + u32::from(count)).is_after(lost.number)
            };
            while ranges.next_if(ends_before).is_some() {}
            let misses =
                ranges.peek().is_some_and(|&(first, _)| !Sequence(first).is_after(lost.number));
            let told = lost.left >= now - AGE;
            let came = told && !misses && lost.number.is_before(covered);
            // The peer no longer asks for what it was told will not come.
            if came && !matches!(lost.state, State::GivenUp) {
                let itself = match lost.state {
                    State::Sent { time, .. } if lost.tries == 1 => {
                        at.zip(least).is_some_and(|(at, least)| at < time + least as i64)
                    }
                    _ => lost.tries == 0,
                };
                if itself {
                    late.push(lost.number.0);
                }
                if let Some(path) = path_in(paths, lost.slot) {
                    if itself && lost.passed {
                        path.overtaken_at = Some(now);
                    }
                    path.repairs.late += u64::from(itself);
                    path.repairs.repaired += u64::from(!itself);
                }
            }
            told && !came
        });
        if let Some(at) = at {
            for number in late {
                self.record_late(now, at, number, false);
            }
        }
    }

    /// A number is missing that is not kept. The peer is told that it will not come, unless it may still be under
    /// way, or was not sent.
    fn refuse_if_lost(&mut self, at: Option<i64>, number: Sequence) {
        let Some(Sent { slot, time: left, .. }) = self.log.find(number.0) else { return };
        if self.is_lost(at, Some(number), slot, left) {
            self.repairs.refusals.push(number);
        }
    }

    /// Decides whether a number that is missing is sent again.
    fn judge(
        &mut self,
        now: i64,
        at: Option<i64>,
        number: Sequence,
        can_repeat: &mut impl FnMut(u32) -> bool,
    ) {
        match self.repairs.find(number) {
            Ok(&mut Lost { tries, state, .. }) => {
                let next = match state {
                    State::Pending => return,
                    State::Sent { slot, time } if !self.is_lost(at, None, slot, time) => return,
                    State::Sent { .. } if tries < TRIES => State::Pending,
                    State::Sent { .. } | State::GivenUp => State::GivenUp,
                    State::Refused { until } if now < until => return,
                    State::Refused { .. } => State::Pending,
                };
                if let Ok(lost) = self.repairs.find(number) {
                    lost.state = next;
                }
                match next {
                    State::Pending => self.repairs.pending.push_back(number.0),
                    _ => self.repairs.refusals.push(number),
                }
            }
            Err(place) => {
                let Some(Sent { slot, time: left, .. }) = self.log.find(number.0) else { return };
                if !self.is_lost(at, Some(number), slot, left) || self.repairs.lost.len() >= MOST {
                    return;
                }
                let Some(kept) = self.keeper.find(number.0) else {
                    return self.repairs.refusals.push(number);
                };
                let mut passed = false;
                if let Some(path) = path_in(&mut self.paths, slot) {
                    passed = path.has_passed(Some(number), left);
                    path.note_judged(number);
                    let bytes = f64::from(kept.bytes + path.overhead);
                    self.repairs.grant(PER_LOST * bytes, bytes);
                }
                let state = if can_repeat(number.0) { State::Pending } else { State::GivenUp };
                self.repairs
                    .lost
                    .insert(place, Lost { number, slot, left, passed, tries: 0, state });
                match state {
                    State::Pending => self.repairs.pending.push_back(number.0),
                    _ => self.repairs.refusals.push(number),
                }
            }
        }
    }

    /// Returns true if a packet that left over a path at `left`, and is missing at `at` by the
    /// peer's clock, will not arrive any more. `number` is the one under which it left for the
    /// first time.
    fn is_lost(
        &self,
        at: Option<i64>,
        number: Option<Sequence>,
        slot: Option<u16>,
        left: i64,
    ) -> bool {
        let Some(path) = slot.and_then(|slot| self.path_at(slot)) else { return true };
        if !path.member.up {
            return true;
        }
        let model = &path.model;
        let passed = path.has_passed(number, left);
        let (known, sigma) = (model.knows_jitter(), model.sigma());
        let in_order = known && sigma == 0.0 && path.overtaken_at.is_none();
        if passed && in_order {
            return true;
        }
        let (Some(at), Some(base)) = (at, model.presumed_delay()) else { return false };
        let waited = (at - left) as f64 - base - model.queue();
        // The queue is known from packets that left some time ago, and may have grown since.
        let threshold = model.threshold();
        let long = threshold.max(model.rtt() / 4.0);
        let margin = match (passed, in_order) {
            (true, _) => threshold / 2.0,
            // The next packet shows what is lost, unless the path is dead.
            (false, true) => long.max(IN_ORDER * threshold),
            (false, false) => long,
        };
        let (counted, loss) = model.loss();
        let lossy = counted < KNOWN || loss > MUCH;
        let deviations = if lossy { DEVIATIONS_LOSSY } else { DEVIATIONS };
        let unknown = if known { 0.0 } else { UNKNOWN_JITTER };
        let jitter = (deviations * sigma + model.chance()).max(unknown);
        waited > jitter.max(model.lateness()) + margin
    }
}
