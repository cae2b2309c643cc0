//! The choice between all paths and fewer of them by what a flow reaches.
//!
//! Bulk has the round-trip time of the longest path that carries it. A flow sends one window in each
//! round-trip time, so a flow whose window does not fill the paths is slower for each path that
//! makes the round-trip time longer. While that is so, the longer paths carry no bulk.

use super::set::{Set, Sets, Slots};

/// The shortest period over which rates are measured, in microseconds.
const LEAST_PERIOD: i64 = 500_000;
/// The length of a period in round-trip times.
const PERIOD_RTTS: f64 = 3.0;
/// A flow that grows by more than this factor from one period to the next is in slow start.
const GROWS: f64 = 1.25;
/// The factor by which the shorter paths alone have to promise more.
const PROMISED: f64 = 1.3;
/// The factor by which they have to reach more once nothing of the longer ones is held any more.
const KEPT: f64 = 1.1;
/// The factor by which all paths have to promise more to a flow that fills the shorter ones.
const RETURNS: f64 = 1.05;
/// The share of reports at which packets wait from which on the paths are full.
const FULL: f64 = 0.5;
/// The time that the receiver and the flow have to adapt to another round-trip time, in microseconds.
const SETTLES: i64 = 2_500_000;
/// The time after which packets that wait show that the shorter paths are full, in microseconds.
const FILLED: i64 = 1_000_000;
/// The time that a flow has to fill the paths after the longer ones carry bulk again, in
/// microseconds; [`FILLS_RTTS`] where that is more.
const FILLS: i64 = 3_000_000;
/// The round-trip times that a flow has to fill the paths after the longer ones carry bulk again.
const FILLS_RTTS: f64 = 10.0;
/// The time for which shorter paths that are full carry bulk alone, and the time between a try that
/// was in vain and the next one, in microseconds. It doubles each time, up to [`LONGEST_PAUSE`].
const PAUSE: i64 = 30_000_000;
/// The longest time that [`PAUSE`] grows to, in microseconds.
const LONGEST_PAUSE: i64 = 480_000_000;
/// The factor by which a flow that begins has to send more over fewer paths in its first
/// [`BEGINNING`].
const BEGINS: f64 = 1.5;
/// The time in which a flow that begins is to send as much as possible, in microseconds.
const BEGINNING: f64 = 10e6;
/// The time in which all paths have to make up for what a flow sends less over them while it begins,
/// in microseconds.
const MAKES_UP: f64 = 60e6;
/// The bytes of bulk in a period from which on a flow has begun.
const BEGUN: u64 = 10 * 1_500;
/// The packets of the peer's bulk in a period from which on a flow has begun in the other direction. Its
/// acknowledgements are held as it needs.
const HEARD: u32 = 10;
/// The rate below which nothing is sent in bulk, in bytes per microsecond.
const NO_BULK: f64 = 0.02;
/// The rate up to which what is no TCP does not count, in bytes per microsecond: 4 Mbit/s, as a call with pictures takes.
/// The other end does not hold it, so the choice for the flows that begin beside it is free.
const CALL: f64 = 0.5;

/// The packets of the present period.
#[derive(Clone, Copy, Debug)]
struct Period {
    began: i64,
    /// The length, in microseconds.
    length: i64,
    /// The bytes sent before.
    bytes: u64,
    /// The bytes sent before of what is no TCP.
    unordered: u64,
    /// The packets of the peer's bulk that came before, modulo 2^32.
    heard: u32,
    /// The packets of the peer's bulk that came before the last period.
    heard_earlier: u32,
    reports: u32,
    /// Reports at which packets waited.
    full: u32,
    /// The sum of the bytes that waited at the reports.
    waited: f64,
}

/// The result of a whole period: in bytes per microsecond, and bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reached {
    rate: f64,
    /// The mean of the bytes that waited.
    waited: f64,
    /// True if packets waited most of the time.
    full: bool,
}

impl Reached {
    /// Returns the bytes that the flows have sent and not seen acknowledged, where `rtt` is the
    /// round-trip time of bulk.
    fn window(&self, rtt: f64) -> f64 {
        self.rate * rtt + self.waited
    }
}

/// The paths that carry bulk.
#[derive(Clone, Debug, PartialEq)]
enum Stage {
    /// All paths carry bulk.
    All,
    /// Only these carry bulk, since `since`. More of them reached `reached`, if that was tried.
    Fewer { slots: Slots, since: i64, reached: Option<f64> },
}

/// The decision about one connection.
#[derive(Debug)]
pub(super) struct Reach {
    /// The bytes of bulk in TCP that were sent in all.
    sent: u64,
    /// The bytes of other bulk, which the other end does not put in order.
    unordered: u64,
    /// The packets of the peer's bulk that have come in all, modulo 2^32.
    heard: u32,
    /// True while no flow sends bulk.
    rests: bool,
    stage: Stage,
    period: Option<Period>,
    /// The rate of the period before, if the same paths carried bulk in it.
    before: Option<f64>,
    /// The result of the period before, if the flow was not in slow start.
    steady: Option<Reached>,
    /// The paths that might carry bulk at the last report.
    offered: Slots,
    /// The time before which no path is left out.
    not_before: i64,
    pause: i64,
    /// The rate at which these paths were full.
    known: Option<(Slots, f64)>,
}

impl Default for Reach {
    fn default() -> Self {
        Self {
            sent: 0,
            unordered: 0,
            heard: 0,
            rests: true,
            stage: Stage::All,
            period: None,
            before: None,
            steady: None,
            offered: Slots::new(),
            not_before: 0,
            pause: PAUSE,
            known: None,
        }
    }
}

impl Reach {
    /// Returns true if a path may carry bulk.
    pub(super) fn takes(&self, slot: u16) -> bool {
        match &self.stage {
            Stage::All => true,
            Stage::Fewer { slots, .. } => slots.contains(&slot),
        }
    }

    /// Notes that a packet of a bulk flow, of `bytes` bytes, is sent. `unordered`: it is no TCP.
    #[inline]
    pub(super) fn note(&mut self, bytes: u32, unordered: bool) {
        let sent = if unordered { &mut self.unordered } else { &mut self.sent };
        *sent += u64::from(bytes);
    }

    /// Takes the number of packets of the peer's bulk that have come in all, modulo 2^32.
    pub(super) fn hear(&mut self, packets: u32) {
        self.heard = packets;
    }

    /// Returns true while no flow sends bulk.
    pub(super) fn rests(&self) -> bool {
        self.rests
    }

    /// Notes the paths that may carry bulk. Where some of them could not before, and a flow that is
    /// not in slow start has all of the others, returns these and what the flow reached.
    pub(super) fn offer(&mut self, slots: &[u16]) -> Option<(Slots, Reached)> {
        let offered = std::mem::replace(&mut self.offered, slots.into());
        if let Stage::Fewer { slots: fewer, .. } = &self.stage {
            if !fewer.iter().all(|slot| slots.contains(slot)) {
                // One of the paths that carry bulk is down, or loses too much.
                self.enter(Stage::All);
            }
            return None;
        }
        let is_new = |slot: &u16| !offered.contains(slot);
        let reached = self.steady.filter(|_| slots.iter().any(is_new))?;
        let former: Slots = slots.iter().copied().filter(|slot| !is_new(slot)).collect();
        (!former.is_empty()).then_some((former, reached))
    }

    /// Lets further paths carry bulk in addition to the `former` ones, unless they cost a flow more
    /// than they bring: its window is as large as the round-trip time over the former ones asked for.
    /// Paths that make the round-trip time no longer cost nothing.
    pub(super) fn admit(&mut self, now: i64, reached: Reached, former: Set, all: &Set) {
        let longer = all.rtt > RETURNS * former.rtt;
        if longer && reached.window(former.rtt) / all.rtt < RETURNS * reached.rate {
            self.enter(Stage::Fewer { slots: former.slots, since: now, reached: None });
        }
    }

    /// Lets other paths carry bulk. Rates of the ones before do not compare with theirs.
    fn enter(&mut self, stage: Stage) {
        (self.stage, self.before) = (stage, None);
    }

    /// Notes a report, while `waiting` bytes wait. `rtt` is the round-trip time of bulk in
    /// microseconds. Returns what was reached where a period ends.
    pub(super) fn measure(&mut self, now: i64, rtt: f64, waiting: usize) -> Option<Reached> {
        let next = Period {
            began: now,
            length: LEAST_PERIOD.max((PERIOD_RTTS * rtt) as i64),
            bytes: self.sent,
            unordered: self.unordered,
            heard: self.heard,
            heard_earlier: self.heard,
            reports: 0,
            full: 0,
            waited: 0.0,
        };
        let period = self.period.get_or_insert(next);
        period.reports += 1;
        period.full += u32::from(waiting > 0);
        period.waited += waiting as f64;
        let passed = now - period.began;
        if passed < period.length {
            return None;
        }
        let next = Period { heard_earlier: period.heard, ..next };
        let before = std::mem::replace(period, next);
        let Period { reports, full, waited, .. } = before;
        let reports = f64::from(reports);
        let rate = |bytes: u64| bytes as f64 / passed as f64;
        let unordered = rate(next.unordered - before.unordered);
        Some(Reached {
            rate: rate(next.bytes - before.bytes) + if unordered > CALL { unordered } else { 0.0 },
            waited: waited / reports,
            full: f64::from(full) >= FULL * reports,
        })
    }

    /// Chooses the paths with which the next flow begins, unless one has begun.
    pub(super) fn begin(&mut self, now: i64, Sets { all, fewer }: &Sets) {
        let before = self.period.map_or((self.sent, self.heard), |it| (it.bytes, it.heard_earlier));
        let (bytes, heard) = (self.sent - before.0, self.heard.wrapping_sub(before.1));
        if !self.rests || bytes > BEGUN || heard >= HEARD {
            return;
        }
        let most = |micros: f64, factor: f64| {
            let sends = |set: &&Set| set.first_bytes(micros);
            let best = fewer.iter().max_by(|a, b| sends(a).total_cmp(&sends(b)));
            best.filter(|best| sends(best) > factor * sends(&all))
        };
        let best = most(BEGINNING, BEGINS).or_else(|| most(MAKES_UP, 1.0));
        self.stage = match best {
            Some(best) => Stage::Fewer { slots: best.slots.clone(), since: now, reached: None },
            None => Stage::All,
        };
    }

    /// Returns the rate that flows reach over a set of paths whose windows have `window` bytes.
    fn promise(&self, set: &Set, window: f64) -> f64 {
        let within = |known: &Slots| set.slots.iter().all(|slot| known.contains(slot));
        let known = self.known.as_ref().filter(|(slots, _)| within(slots));
        set.rate.min(known.map_or(f64::INFINITY, |&(_, rate)| rate)).min(window / set.rtt)
    }

    /// Returns the set that promises the most, if that is more than `rate`.
    fn best<'a>(
        &self,
        sets: impl Iterator<Item = &'a Set>,
        window: f64,
        rate: f64,
    ) -> Option<&'a Set> {
        let promised = sets.map(|set| (self.promise(set, window), set));
        let best = promised.max_by(|a, b| a.0.total_cmp(&b.0));
        best.filter(|&(promise, _)| promise > rate).map(|(_, set)| set)
    }

    /// Decides by what was reached in a period. `present` are the paths that carry bulk.
    pub(super) fn decide(
        &mut self,
        now: i64,
        reached: Reached,
        present: &Set,
        Sets { all, fewer }: &Sets,
    ) {
        if reached.rate < NO_BULK {
            // Nothing that was learnt of this flow concerns the next one.
            let (stage, offered) = (self.stage.clone(), std::mem::take(&mut self.offered));
            let &mut Self { sent, unordered, heard, period, .. } = self;
            *self = Self { sent, unordered, heard, period, stage, offered, ..Self::default() };
            return;
        }
        self.rests = false;
        let grows = self.before.is_none_or(|before| reached.rate > GROWS * before);
        self.steady = (!grows).then_some(reached);
        self.before = Some(reached.rate);
        let window = reached.window(present.rtt);
        if let Stage::Fewer { slots, since, reached: before } = &self.stage {
            let passed = now - since;
            if passed < SETTLES && !(reached.full && passed > FILLED) {
                return;
            }
            let others = fewer.iter().chain([all]).filter(|set| set.slots != *slots);
            let outgrown = reached.full.then(|| self.best(others, window, RETURNS * reached.rate));
            let outgrown = outgrown.flatten();
            let over = reached.full && passed > self.pause;
            let in_vain = before.is_some_and(|before| reached.rate < KEPT * before);
            if reached.full {
                self.known = Some((slots.clone(), reached.rate));
            }
            if over || in_vain {
                self.not_before = now + self.pause;
                self.pause = LONGEST_PAUSE.min(2 * self.pause);
            }
            if over || in_vain || outgrown.is_some() {
                let fills = FILLS.max((FILLS_RTTS * all.rtt) as i64);
                self.not_before = self.not_before.max(now + fills);
                let some = outgrown.filter(|set| !over && !in_vain && set.slots != all.slots);
                self.enter(some.map_or(Stage::All, |set| Stage::Fewer {
                    slots: set.slots.clone(),
                    since: now,
                    reached: None,
                }));
                return;
            }
        }
        if grows || reached.full || now < self.not_before {
            return;
        }
        if let Some(best) = self.best(fewer.iter(), window, PROMISED * reached.rate) {
            let slots = best.slots.clone();
            self.enter(Stage::Fewer { slots, since: now, reached: Some(reached.rate) });
        }
    }
}

#[cfg(test)]
mod tests;
