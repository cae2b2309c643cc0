//! Play-out by send time: bulk is delivered when a constant time has passed since it was sent.
//!
//! Paths that differ and paths that jitter bring packets in any order and after any time. Numbers
//! give the order back, but an inner TCP flow also looks at the time: it takes a packet that comes later
//! than usual for a queue, and a gap that lasts for a loss. So bulk waits until its longest path would
//! have brought it. A missing number is waited for exactly as long, whatever other paths brought
//! meanwhile: what was lost costs nobody time, and what was sent again comes into its place.
//!
//! What is not bulk is delivered as it comes, and marked, so that its copies are known.

mod bounds;
mod class;
mod datagrams;
mod flows;
mod hold;
mod passed;
mod send_times;
mod under_way;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mpt_wire::control::Stamp;

pub(super) use self::bounds::Bounds;
use self::bounds::{LONGEST, WINDOW};
pub use self::class::Class;
use self::datagrams::Datagrams;
use self::flows::{Flows, Wait};
pub use self::hold::Losses;
use self::hold::{Hold, Probed};
use self::passed::Passed;
use self::send_times::{Left, SendTimes};
use self::under_way::UnderWay;
use super::config::RESTORED;
use super::loss::refused::Refused;
use super::ring::{Ring, State};
use crate::sequence::Sequence;

/// What is due within this time is played out together with what is due, in microseconds.
const TOGETHER: i64 = 200;
/// Without a packet that might have to wait for so long, in microseconds, nobody notices that the hold changes.
const IDLE: i64 = 500_000;
/// What is still under way on a path, or may be sent again, is waited for longer by so much, in microseconds: TCP takes a
/// number that is skipped for a loss, and one that is late for none.
const GRACE: i64 = 200_000;
/// What a packet has waited in the sender's queue is taken off its hold, up to this time in microseconds, by which the
/// hold is longer for all: a flow in slow start sends in bursts, and takes what the later packets of a burst wait for a
/// full path (HyStart, from 4 to 16 ms on).
const HIDDEN: i64 = 20_000;
/// The same of a packet before which no number is missing. The hold is longer than most packets need, since it is that of
/// the latest ones and of repairs, and what is left of it hides a longer wait for nothing.
const HIDDEN_IN_TURN: i64 = 150_000;
/// Acknowledgements of flows that are held are delivered in batches of this time, in microseconds: TCP takes a train of
/// acknowledgements, none of them 2 ms after the one before, that lasts for half of a round-trip time for a path that is
/// full (HyStart). Of a flow that waits in the tunnel's queue, as every flow in slow start does, it shows no more than
/// the rate of that queue.
const BATCH: i64 = 3_000;
/// Numbers that are looked at before a gap is taken for one.
const LOOKED_AT: usize = 64;
/// Packets whose delay is looked at when the peer tells when they left, at the most, and as a rule.
const SAMPLES: usize = 64;
const WANTED: u32 = 24;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting<P> {
    pub(super) packet: P,
    pub(super) path: u16,
    /// When it left, as long as the peer has not told.
    sent: i64,
    /// When it came.
    came: i64,
    flow: u32,
}

/// What becomes of a packet that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It waits, if there is room.
    Waits,
    /// It is delivered now, before others.
    Passes,
    /// It is delivered now, as the next number or after its time.
    Due,
    /// It came before.
    Duplicate,
    /// Its number is too far ahead.
    OutOfReach,
}

/// What is delivered next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next<P> {
    /// A packet with its number, in the order of the numbers.
    InTurn(Sequence, Waiting<P>),
    /// A packet that overtakes others.
    Ahead(Waiting<P>),
    /// The packet of this number was delivered before those before it.
    Passed(Sequence),
}

/// The packets of one connection that wait. Times are microseconds since it began.
#[derive(Debug)]
pub(crate) struct PlayOut<P> {
    origin: Instant,
    bounds: Bounds,
    /// Of the difference of both clocks, so that delays are small numbers.
    reference: Option<u32>,
    times: SendTimes,
    hold: Hold,
    flows: Flows,
    datagrams: Datagrams,
    /// The first number that has not been played out.
    front: Sequence,
    /// Numbers before this one are played out when their turn comes.
    target: Sequence,
    bulk: Ring<Waiting<P>>,
    acknowledgements: Ring<Waiting<P>>,
    /// What has waited and is wanted at once.
    hurried: VecDeque<Waiting<P>>,
    /// Numbers from `front` on that were delivered.
    passed: Passed,
    /// Numbers from `front` on that the peer will not send again.
    refused: Refused,
    /// When the last packet came that was to wait, or might have been.
    waited: i64,
    /// What is still to come on the paths.
    under_way: UnderWay,
    /// Packets of which the delay is to be known: path, number, arrival.
    samples: Vec<(usize, Sequence, i64)>,
    /// Of so many pairs of numbers one is looked at.
    every: u32,
    /// Packets since the peer told last.
    packets: u32,
}

impl<P: Copy> PlayOut<P> {
    /// Nothing waits, and nothing is known.
    pub(super) fn new(now: Instant, bounds: Bounds) -> Self {
        Self {
            origin: now,
            bounds,
            reference: None,
            times: SendTimes::default(),
            hold: Hold::default(),
            flows: Flows::new(),
            datagrams: Datagrams::default(),
            front: Sequence(0),
            target: Sequence(0),
            bulk: Ring::new(),
            acknowledgements: Ring::new(),
            hurried: VecDeque::new(),
            passed: Passed::default(),
            refused: Refused::default(),
            waited: i64::MIN / 2,
            under_way: UnderWay::default(),
            samples: Vec::new(),
            every: 1,
            packets: 0,
        }
    }

    /// Other bounds hold from now on.
    pub(super) const fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    pub(super) const fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// True if a number is too far ahead to wait.
    pub(super) fn is_beyond(&self, number: Sequence) -> bool {
        number.ahead_of(self.front) >= self.bounds.window
    }

    fn micros(&self, now: Instant) -> i64 {
        now.saturating_duration_since(self.origin).as_micros() as i64
    }

    /// A delay by both clocks, `difference` being that of arrival and departure modulo 2^32, as a
    /// number that compares with others.
    fn relative(&mut self, difference: u32) -> i64 {
        let reference = *self.reference.get_or_insert(difference);
        difference.wrapping_sub(reference).cast_signed().into()
    }

    /// What probes say of a path: the least difference of arrival and departure by both clocks, in
    /// microseconds modulo 2^32, what it spreads over, and the round-trip time.
    pub(crate) fn set_probed(&mut self, slot: usize, least: u32, spread: Duration, rtt: Duration) {
        let least = self.relative(least);
        self.hold.set_probed(slot, Probed { least, spread, rtt });
    }

    /// Whether the peer gives the path bulk, or may soon, and the last number that it was given.
    pub(crate) fn set_used(&mut self, slot: usize, used: Option<u32>) {
        self.hold.set_counts(slot, used.is_some());
        if let Some(last) = used {
            self.under_way.told(slot, Sequence(last));
        }
    }

    /// The path is gone.
    pub(super) fn remove_path(&mut self, slot: usize) {
        self.hold.remove(slot);
        self.under_way.remove(slot);
    }

    /// The peer tells when numbers left, as it does in intervals of `interval`. `clock` is our time by the
    /// clock that probes are measured with.
    pub(crate) fn handle_stamps(
        &mut self,
        now: Instant,
        clock: u32,
        interval: Duration,
        stamps: impl Iterator<Item = Stamp>,
    ) {
        let micros = self.micros(now);
        let mut neighbour = None;
        for Stamp { number, time, waited } in stamps {
            let at = micros - self.relative(clock.wrapping_sub(time));
            self.times.note(Sequence(number), Left { at, waited: 100 * i64::from(waited) });
            if let Some(neighbour) = neighbour.replace(Sequence(number)) {
                self.times.join(neighbour, Sequence(number));
            }
        }
        let (times, hold) = (&self.times, &mut self.hold);
        self.samples.retain(|&(slot, number, arrival)| match times.between(number) {
            Some(Left { at: sent, .. }) => {
                hold.record(slot, number, sent, arrival);
                false
            }
            None => arrival + LONGEST > micros,
        });
        hold.set_interval(interval);
        self.every = (self.packets / WANTED).max(1);
        self.packets = 0;
    }

    /// How long bulk waits follows what is known of the paths by now.
    pub(crate) fn update_hold(&mut self, now: Instant) {
        let micros = self.micros(now);
        let idle = micros - self.waited > IDLE;
        self.refused.forget_before(self.front);
        self.hold.update(micros, idle);
        self.flows.set_hold(self.extra().as_micros() as i64);
    }

    /// What is lost is waited for so much longer.
    pub(crate) const fn set_repair_time(&mut self, time: Duration, losses: Losses) {
        self.hold.set_repair_time(time.as_micros() as f64, losses);
    }

    /// Whether anything is held: paths differ, or jitter.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.hold.present().is_some()
    }

    /// True if delays on a path that the peer gives bulk jitter or wander.
    pub(crate) fn jitters(&self) -> bool {
        self.hold.jitters()
    }

    /// How long bulk takes from one end to the other beyond what the shortest path takes.
    pub(super) fn extra(&self) -> Duration {
        let extra =
            self.hold.present().zip(self.hold.shortest()).map_or(0, |(hold, least)| hold - least);
        Duration::from_micros(extra.clamp(0, self.bounds.hold).unsigned_abs())
    }

    /// How many packets wait.
    pub(super) fn waiting(&self) -> usize {
        self.bulk.len() + self.acknowledgements.len() + self.hurried.len()
    }

    /// The peer is idle: gives back what memory is not needed to know how long the next flow waits.
    pub(super) fn rest(&mut self) {
        if self.waiting() == 0 {
            if self.passed.end_after(self.front).is_none() {
                self.passed.clear();
            }
            self.flows.rest();
            self.datagrams.rest();
            self.hold.rest();
            self.samples = Vec::new();
            self.bulk.shrink();
            self.acknowledgements.shrink();
        }
    }

    /// Begins with this number; nothing waits.
    pub(super) fn begin(&mut self, first: Sequence) {
        (self.front, self.target) = (first, first);
        self.passed.clear();
        self.refused.clear();
    }

    /// The peer's numbers begin anew.
    pub(super) fn restart(&mut self, first: Sequence) {
        self.times.clear();
        self.under_way.clear();
        self.samples.clear();
        self.begin(first);
    }

    /// A packet has come: what is to become of it.
    pub(super) fn arrive(
        &mut self,
        now: Instant,
        path: usize,
        number: Sequence,
        class: Class,
    ) -> Turn {
        let micros = self.sample(now, path, number, class);
        let ahead = number.ahead_of(self.front);
        if self.is_beyond(number) {
            return Turn::OutOfReach;
        }
        if ahead < 0 {
            return Turn::Due;
        }
        let known = self.bulk.contains(self.front, number)
            || self.acknowledgements.contains(self.front, number)
            || self.passed.contains(number);
        if known {
            return Turn::Duplicate;
        }
        let waits = match class {
            Class::Payload { flow } => match self.flows.wait(micros, flow, number, self.front) {
                Wait::Yes => true,
                Wait::No => false,
                Wait::NoLonger(last) => {
                    self.hurry(flow, last);
                    false
                }
            },
            Class::Acknowledgement => {
                !self.acknowledgements.is_empty()
                    || self.due_acknowledgement(number, self.guess(path, micros), micros)
                        > micros + TOGETHER
            }
            Class::Datagram { .. } | Class::Other => false,
            Class::Ordered => true,
        };
        if waits {
            Turn::Waits
        } else if ahead == 0 && self.target == self.front {
            (self.front, self.target) = (number.next(), number.next());
            Turn::Due
        } else {
            Turn::Passes
        }
    }

    /// Keeps when a packet came, so that its delay is known when the peer tells when it left. Gives the
    /// time.
    pub(super) fn sample(
        &mut self,
        now: Instant,
        path: usize,
        number: Sequence,
        class: Class,
    ) -> i64 {
        let micros = self.micros(now);
        if class.is_timed() {
            self.waited = micros;
        }
        if path == RESTORED {
            return micros;
        }
        self.under_way.came(path, number);
        self.packets += 1;
        // Chosen by number: those that come together tell little of how delays differ.
        if self.samples.len() < SAMPLES && (number.0 / 2).is_multiple_of(self.every) {
            self.samples.push((path, number, micros));
        }
        micros
    }

    /// Returns true if a packet does not wait for numbers that are missing before it, where packets are
    /// put in order as they come.
    pub(super) fn is_wanted_at_once(&mut self, now: Instant, class: Class) -> bool {
        match class {
            Class::Datagram { flow, large } => {
                let micros = self.micros(now);
                !self.datagrams.is_bulk(micros, flow, large)
            }
            Class::Other => true,
            Class::Payload { .. } | Class::Acknowledgement | Class::Ordered => false,
        }
    }

    /// The packet that [`Self::arrive`] has let pass is delivered.
    pub(super) fn pass(&mut self, number: Sequence) {
        self.passed.insert(number);
    }

    /// The packet that is to wait waits.
    pub(super) fn wait(
        &mut self,
        now: Instant,
        path: usize,
        number: Sequence,
        class: Class,
        packet: P,
    ) {
        let micros = self.micros(now);
        let sent = self.guess(path, micros);
        let flow = if let Class::Payload { flow } = class { flow } else { 0 };
        let waiting = Waiting { packet, path: path as u16, sent, came: micros, flow };
        let ring = match class {
            Class::Acknowledgement => &mut self.acknowledgements,
            _ => &mut self.bulk,
        };
        ring.insert(self.front, number, waiting, 0, State::Waits);
    }

    /// What waits of a flow, up to this number, is wanted at once.
    fn hurry(&mut self, flow: u32, last: Sequence) {
        if last.ahead_of(self.front) >= WINDOW {
            // It was held before the numbers of the window became others.
            return;
        }
        let mut number = self.front;
        while !number.is_after(last) {
            if self.bulk.get(number).is_some_and(|waiting| waiting.flow == flow)
                && let Some(waiting) = self.bulk.take(number)
            {
                self.passed.insert(number);
                self.hurried.push_back(waiting);
            }
            number = number.next();
        }
    }

    /// When a packet left at the latest that came now on a path. It is played out too late rather than too
    /// early, if the peer does not tell in time: one that is early shows TCP a round-trip time that no
    /// other one will have, and what is usual looks like a queue.
    fn guess(&self, path: usize, now: i64) -> i64 {
        let latest = self.hold.least(path).map(|least| now - least);
        let earliest = self.times.latest().unwrap_or(i64::MIN);
        latest.unwrap_or_else(|| now - self.hold.present().unwrap_or(0)).max(earliest)
    }

    /// When a number left; `guess` counts as long as the peer has not told.
    fn left(&self, number: Sequence, guess: i64) -> Left {
        self.times.between(number).unwrap_or(Left { at: guess, waited: 0 })
    }

    /// When a number is played out, if none before it is missing.
    fn due(&self, number: Sequence, guess: i64) -> i64 {
        self.due_hiding(HIDDEN_IN_TURN, number, guess)
    }

    /// The same with up to `hidden` of what it has waited in the sender's queue taken off its hold.
    fn due_hiding(&self, hidden: i64, number: Sequence, guess: i64) -> i64 {
        let Some(present) = self.hold.present() else { return i64::MIN / 2 };
        let shortest = self.hold.shortest().unwrap_or(0);
        let Left { at, waited } = self.left(number, guess);
        at - waited.min(hidden) + (present + HIDDEN).min(shortest + self.bounds.hold)
    }

    /// Until when the numbers before this one, whose time has come, are waited for: longer if the path of
    /// one of them has a queue that nobody foresaw, or if they may be sent again and the hold does not contain that.
    fn patience(&self, number: Sequence, guess: i64, came: i64) -> i64 {
        if !self.is_missing_before(number) {
            return self.due(number, guess);
        }
        let may_come = self.under_way.may_bring(self.front, number) || self.hold.expects_repairs();
        let grace = if may_come { GRACE } else { 0 };
        let due = self.due_hiding(HIDDEN, number, guess);
        (due + grace.max(self.hold.repair_time_beyond())).min(came.saturating_add(self.bounds.stay))
    }

    /// Whether a number before this one has not come. The first ones tell.
    fn is_missing_before(&self, number: Sequence) -> bool {
        let mut from = self.front;
        for _ in 0..LOOKED_AT {
            let Some(other) = self.passed.first_other(from, number) else { return false };
            from = match self.refused.end_of(other) {
                Some(end) => end.earlier(number),
                None if self.acknowledgements.contains(self.front, other) => other.next(),
                None => return true,
            };
        }
        true
    }

    fn due_acknowledgement(&self, number: Sequence, guess: i64, came: i64) -> i64 {
        let Some(shortest) = self.hold.shortest() else { return i64::MIN / 2 };
        let due = (self.left(number, guess).at + shortest).max(came);
        due + (-due).rem_euclid(BATCH)
    }

    /// The peer will not send `count` numbers again, from `first` on: what comes behind them does not
    /// wait for them any more. Returns how many of them are within reach.
    pub(super) fn refuse(&mut self, first: Sequence, count: u32) -> u32 {
        self.refused.insert(self.front, first, count)
    }

    /// When something is due; `None` while nothing waits.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let first = |ring: &Ring<Waiting<P>>| {
            let number = ring.lowest(self.front)?;
            Some((number, *ring.get(number)?))
        };
        let bulk = first(&self.bulk).map(|(number, it)| match number == self.front {
            true => self.due(number, it.sent),
            false => self.patience(number, it.sent, it.came),
        });
        let acknowledgement = first(&self.acknowledgements)
            .map(|(number, it)| self.due_acknowledgement(number, it.sent, it.came));
        let due = bulk.into_iter().chain(acknowledgement).min()?;
        Some(self.origin + Duration::from_micros(due.max(0).unsigned_abs()))
    }

    /// The next packet whose time has come; with `all`, the next one.
    pub(super) fn next(&mut self, now: Instant, all: bool) -> Option<Next<P>> {
        if let Some(waiting) = self.hurried.pop_front() {
            return Some(Next::Ahead(waiting));
        }
        let micros = self.micros(now) + TOGETHER;
        loop {
            // What lies before the number whose turn it is, one after the other.
            while self.front.is_before(self.target) {
                let number = self.front;
                self.front = number.next();
                if let Some(slot) = self.acknowledgements.take_first(number) {
                    return Some(Next::InTurn(number, slot.packet));
                }
                if self.passed.take(number) {
                    return Some(Next::Passed(number));
                }
            }
            if let Some(number) = self.acknowledgements.lowest(self.front)
                && let Some(waiting) = self.acknowledgements.get(number).copied()
                && (all || self.due_acknowledgement(number, waiting.sent, waiting.came) <= micros)
            {
                self.acknowledgements.take_first(number);
                self.passed.insert(number);
                return Some(Next::Ahead(waiting));
            }
            let Some(number) = self.bulk.lowest(self.front) else {
                // The window learns what was delivered before its turn, so that no copy of it is.
                self.target = self.passed.end_after(self.front).filter(|_| all)?;
                continue;
            };
            let waiting = *self.bulk.get(number)?;
            if !all && self.due(number, waiting.sent) > micros {
                return None;
            }
            if number != self.front {
                if !all && self.patience(number, waiting.sent, waiting.came) > micros {
                    return None;
                }
                self.target = number;
                continue;
            }
            self.bulk.take_first(number);
            (self.front, self.target) = (number.next(), number.next());
            return Some(Next::InTurn(number, waiting));
        }
    }

    /// Where no bulk waits, numbers are not waited for longer than bulk would.
    pub(super) fn follow(&mut self, now: Instant) {
        if self.bulk.is_empty()
            && let Some(hold) = self.hold.present()
        {
            let micros = self.micros(now);
            // Acknowledgements among them have left in their batch by then. A peer may name any number: the window does not
            // move over more of them than it has, one by one.
            if let Some(number) = self.times.latest_before(micros - hold - BATCH)
                && number.is_after(self.target)
                && number.ahead_of(self.front) < WINDOW
            {
                self.target = number;
            }
        }
    }
}
