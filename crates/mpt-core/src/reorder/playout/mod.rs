//! Play-out by send time: bulk is delivered a constant time after it was sent.
//!
//! Paths that differ or jitter deliver packets in any order and after any time. Numbers restore the
//! order, but an inner TCP flow also reacts to the time: it takes a packet that is later than usual
//! for a sign of a queue, and a gap that lasts for a loss. So bulk waits until its longest path
//! would have delivered it. A missing number is waited for exactly as long, whatever the other
//! paths have delivered meanwhile. So a loss delays no other packet, and a repair arrives before
//! its turn.
//!
//! Packets that are not bulk are delivered as they arrive. Their numbers are kept, so that copies
//! are recognized.

mod bounds;
mod burst;
mod class;
mod datagrams;
mod flows;
mod hold;
mod passed;
mod pauses;
mod samples;
mod send_times;
mod switch;
mod under_way;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mpt_wire::control::Stamp;

pub(super) use self::bounds::Bounds;
use self::bounds::{LONGEST, WINDOW};
use self::burst::Burst;
pub use self::class::Class;
use self::datagrams::Datagrams;
use self::flows::{Flows, Wait};
pub use self::hold::Losses;
use self::hold::{Hold, Probed};
use self::passed::Passed;
use self::samples::{Sample, Samples};
use self::send_times::{Left, SendTimes};
use self::under_way::UnderWay;
use super::config::RESTORED;
use super::loss::refused::Refused;
use super::ring::{Ring, State};
use crate::Times;
use crate::sequence::Sequence;

/// Packets that are due within this time are played out together with those that are due, in
/// microseconds.
const TOGETHER: i64 = 200;
/// The grace period of numbers that are still under way on a path or may be sent again, in
/// microseconds. To TCP a number that is skipped is a loss, and one that is late is not.
const GRACE: i64 = 200_000;
/// The most that is taken off the hold of a packet before which no number is missing, in
/// microseconds. The hold fits the latest packets and repairs, so it is longer than most packets
/// need, and the rest of it hides a longer wait at no cost.
const HIDDEN_IN_TURN: i64 = 150_000;
/// The interval at which acknowledgements of held flows are delivered, in microseconds. HyStart
/// takes a train of acknowledgements that follow each other within 2 ms, for half of a round-trip
/// time, for a full path. A flow in slow start waits in the tunnel's queue, and such a train shows
/// no more than the rate of that queue.
const BATCH: i64 = 3_000;
/// The most numbers that are examined in the search for a missing one.
const LOOKED_AT: usize = 64;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting<P> {
    pub(super) packet: P,
    pub(super) path: u16,
    /// An estimate of its send time, which counts until the peer has sent the time.
    sent: i64,
    /// The time since which it waits.
    came: i64,
    flow: u32,
}

/// The decision about a packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The packet waits, if there is room.
    Waits,
    /// The packet is delivered now, before others.
    Passes,
    /// The packet is delivered now, as the next number or after its time.
    Due,
    /// The number has arrived before.
    Duplicate,
    /// The number is too far ahead.
    OutOfReach,
}

/// The packet that is delivered next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next<P> {
    /// A packet with its number, in the order of the numbers.
    InTurn(Sequence, Waiting<P>),
    /// A packet that overtakes others.
    Ahead(Waiting<P>),
    /// The packet of this number was delivered before those before it.
    Passed(Sequence),
}

/// The packets of one connection that wait. Times are microseconds since play-out began.
#[derive(Debug)]
pub(crate) struct PlayOut<P> {
    origin: Instant,
    bounds: Bounds,
    /// The reference of delays between both clocks, which makes them small numbers.
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
    /// Packets that have waited and are wanted at once.
    hurried: VecDeque<Waiting<P>>,
    /// Numbers from `front` on that were delivered.
    passed: Passed,
    /// Numbers from `front` on that the peer will not send again.
    refused: Refused,
    /// The arrival of the last packet that had to wait, or might have had to.
    waited: Option<Instant>,
    /// The numbers that are still under way on the paths.
    under_way: UnderWay,
    /// Packets whose delay is to be measured.
    samples: Samples,
    /// The bulk that was played out last.
    burst: Burst,
}

impl<P: Copy> PlayOut<P> {
    /// A play-out in which nothing waits and nothing is known.
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
            waited: None,
            under_way: UnderWay::default(),
            samples: Samples::default(),
            burst: Burst::default(),
        }
    }

    /// Sets the bounds, which count from now on.
    pub(super) const fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    pub(super) const fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Returns true if a number is too far ahead to wait.
    pub(super) fn is_beyond(&self, number: Sequence) -> bool {
        number.ahead_of(self.front) >= self.bounds.window
    }

    fn micros(&self, now: Instant) -> i64 {
        now.saturating_duration_since(self.origin).as_micros() as i64
    }

    /// Returns a delay between both clocks as a number that compares with others. `difference` is
    /// arrival less departure, modulo 2^32.
    fn relative(&mut self, difference: u32) -> i64 {
        let reference = *self.reference.get_or_insert(difference);
        difference.wrapping_sub(reference).cast_signed().into()
    }

    /// Takes the measurements of a path by probes: the least difference of arrival and departure
    /// between both clocks, in microseconds modulo 2^32, the spread of the difference, and the
    /// round-trip time.
    pub(crate) fn set_probed(&mut self, slot: usize, least: u32, spread: Duration, rtt: Duration) {
        let least = self.relative(least);
        self.hold.set_probed(slot, Probed { least, spread, rtt });
    }

    /// Sets whether the peer sends bulk over the path, or may soon, and the last number that it has
    /// sent there.
    pub(crate) fn set_used(&mut self, slot: usize, used: Option<u32>) {
        self.hold.set_counts(slot, used.is_some());
        if let Some(last) = used {
            self.under_way.told(slot, Sequence(last));
        }
    }

    /// Removes a path.
    pub(super) fn remove_path(&mut self, slot: usize) {
        self.hold.remove(slot);
        self.under_way.remove(slot);
        self.samples.remove_path(slot);
    }

    /// Takes send times from the peer, which sends them at intervals of `interval`. `clock` is the
    /// present time by the clock that probes are measured with.
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
        self.samples.settle(|&Sample { slot, number, arrival }| match times.between(number) {
            Some(Left { at: sent, .. }) => {
                hold.record(slot, number, sent, arrival);
                false
            }
            None => arrival + LONGEST > micros,
        });
        hold.set_interval(interval);
    }

    /// Sets how much longer than the hold a lost number is waited for.
    pub(crate) const fn set_repair_time(&mut self, time: Duration, losses: Losses) {
        self.hold.set_repair_time(time.as_micros() as f64, losses);
    }

    /// Returns true if packets are held, because paths differ or jitter or because lost packets are
    /// sent again.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.hold.present().is_some()
    }

    /// Returns true if the delays of a path over which the peer sends bulk jitter or wander.
    pub(crate) fn jitters(&self) -> bool {
        self.hold.jitters()
    }

    /// Returns how much longer bulk takes from one end to the other than the shortest path does.
    pub(super) fn extra(&self) -> Duration {
        let extra =
            self.hold.present().zip(self.hold.shortest()).map_or(0, |(hold, least)| hold - least);
        Duration::from_micros(extra.clamp(0, self.bounds.hold).unsigned_abs())
    }

    /// Returns how many packets wait.
    pub(super) fn waiting(&self) -> usize {
        self.bulk.len() + self.acknowledgements.len() + self.hurried.len()
    }

    /// Gives back memory while the peer is idle, except what decides how long the next flow waits.
    pub(super) fn rest(&mut self) {
        if self.waiting() == 0 {
            if self.passed.end_after(self.front).is_none() {
                self.passed.clear();
            }
            self.flows.rest();
            self.datagrams.rest();
            self.hold.rest();
            self.samples.rest();
            self.bulk.shrink();
            self.acknowledgements.shrink();
        }
    }

    /// Begins with this number while nothing waits.
    pub(super) fn begin(&mut self, first: Sequence) {
        (self.front, self.target) = (first, first);
        self.passed.clear();
        self.refused.clear();
    }

    /// Starts again after the peer's numbers have begun anew.
    pub(super) fn restart(&mut self, first: Sequence) {
        self.times.clear();
        self.under_way.clear();
        self.samples.clear();
        self.begin(first);
    }

    /// Decides about a packet that has arrived.
    pub(super) fn arrive(
        &mut self,
        at: Times,
        path: usize,
        number: Sequence,
        class: Class,
    ) -> Turn {
        let micros = self.micros(at.now());
        self.sample(at, path, number, class);
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
            Class::Payload { flow, large } => {
                match self.flows.wait(micros, (flow, large), number, self.front) {
                    Wait::Yes => true,
                    Wait::No => false,
                    Wait::NoLonger(last) => {
                        self.hurry(flow, last);
                        false
                    }
                }
            }
            Class::Acknowledgement => {
                !self.acknowledgements.is_empty()
                    || self.due_acknowledgement(number, self.guess(path, at.arrived()), micros)
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

    /// Notes the arrival of a packet, so that its delay is known once the peer has sent its send
    /// time.
    pub(super) fn sample(&mut self, at: Times, path: usize, number: Sequence, class: Class) {
        if class.is_timed() {
            self.waited = Some(at.now());
        }
        if path == RESTORED {
            return;
        }
        self.under_way.came(path, number);
        if self.samples.note(number) {
            let arrival = self.micros(at.arrived());
            self.samples.push(Sample { slot: path, number, arrival });
        }
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

    /// Notes that the packet that [`Self::arrive`] has let pass is delivered.
    pub(super) fn pass(&mut self, number: Sequence) {
        self.passed.insert(number);
    }

    /// Stores the packet that has to wait.
    pub(super) fn wait(
        &mut self,
        at: Times,
        path: usize,
        number: Sequence,
        class: Class,
        packet: P,
    ) {
        let sent = self.guess(path, at.arrived());
        let flow = if let Class::Payload { flow, .. } = class { flow } else { 0 };
        let waiting =
            Waiting { packet, path: path as u16, sent, came: self.micros(at.now()), flow };
        let ring = match class {
            Class::Acknowledgement => &mut self.acknowledgements,
            _ => &mut self.bulk,
        };
        ring.insert(self.front, number, waiting, 0, State::Waits);
    }

    /// Lets the waiting packets of a flow up to this number be delivered at once.
    fn hurry(&mut self, flow: u32, last: Sequence) {
        if last.ahead_of(self.front) >= WINDOW {
            // The number was held before the window moved to other numbers.
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

    /// Returns the latest time at which a packet can have left that has arrived on a path. Where
    /// the peer's send time is late, the packet is played out too late rather than too early. A
    /// packet that is early shows TCP a round-trip time that no other packet will have, and the
    /// usual one then looks like a queue.
    fn guess(&self, path: usize, arrived: Instant) -> i64 {
        let arrived = self.micros(arrived);
        let latest = self.hold.least(path).map(|least| arrived - least);
        let earliest = self.times.latest().unwrap_or(i64::MIN);
        latest.unwrap_or_else(|| arrived - self.hold.present().unwrap_or(0)).max(earliest)
    }

    /// Returns the time at which a number is played out if none before it is missing.
    fn due(&self, number: Sequence, guess: i64) -> i64 {
        self.due_hiding(HIDDEN_IN_TURN, number, guess)
    }

    /// Returns the play-out time of a number with up to `hidden` of its wait in the sender's queue
    /// taken off the hold.
    fn due_hiding(&self, hidden: i64, number: Sequence, guess: i64) -> i64 {
        let Some(present) = self.hold.present() else { return i64::MIN / 2 };
        let shortest = self.hold.shortest().unwrap_or(0);
        let Left { at, waited } = self.times.left(number, guess);
        at - waited.min(hidden) + (present + self.hold.hidden()).min(shortest + self.bounds.hold)
    }

    /// Returns the time until which the missing numbers before this one are waited for. It is later
    /// if the path of one of them has an unexpected queue, or if they may be sent again and the
    /// hold does not contain the time for that.
    fn patience(&self, number: Sequence, guess: i64, came: i64) -> i64 {
        if !self.is_missing_before(number) {
            return self.due(number, guess);
        }
        let may_come = self.under_way.may_bring(self.front, number) || self.hold.expects_repairs();
        let grace = if may_come { GRACE } else { 0 };
        let due = self.due_hiding(self.hold.hidden(), number, guess);
        (due + grace.max(self.hold.repair_time_beyond())).min(came.saturating_add(self.bounds.stay))
    }

    /// Returns true if a number before this one is missing. Only the first ones are examined.
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
        let due = (self.times.left(number, guess).at + shortest).max(came);
        due + (-due).rem_euclid(BATCH)
    }

    /// Notes that the peer will not send `count` numbers again, from `first` on, so that later
    /// numbers do not wait for them. Returns how many of them are within reach.
    pub(super) fn refuse(&mut self, first: Sequence, count: u32) -> u32 {
        self.refused.insert(self.front, first, count)
    }

    /// Returns the time at which something is due, or `None` while nothing waits.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let first = |ring: &Ring<Waiting<P>>| {
            let number = ring.lowest(self.front)?;
            Some((number, *ring.get(number)?))
        };
        let bulk = first(&self.bulk).map(|(number, it)| match number == self.front {
            true => self.due(number, it.sent),
            false => self.patience(number, it.sent, it.came),
        });
        let bulk = bulk.map(|due| due.max(self.burst.others));
        let acknowledgement = first(&self.acknowledgements)
            .map(|(number, it)| self.due_acknowledgement(number, it.sent, it.came));
        let due = bulk.into_iter().chain(acknowledgement).min()?;
        Some(self.origin + Duration::from_micros(due.max(0).unsigned_abs()))
    }

    /// Returns the next packet whose time has come, or with `all` the next one in any case.
    pub(super) fn next(&mut self, now: Instant, all: bool) -> Option<Next<P>> {
        if let Some(waiting) = self.hurried.pop_front() {
            return Some(Next::Ahead(waiting));
        }
        let now = self.micros(now);
        let micros = now + TOGETHER;
        loop {
            // The numbers before the one whose turn it is come one after the other.
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
                // The window is told of numbers that were delivered before their turn, so that it
                // drops their copies.
                self.target = self.passed.end_after(self.front).filter(|_| all)?;
                continue;
            };
            let waiting = *self.bulk.get(number)?;
            if !all && (self.due(number, waiting.sent) > micros || self.burst.others > now) {
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
            self.burst.note(now);
            (self.front, self.target) = (number.next(), number.next());
            return Some(Next::InTurn(number, waiting));
        }
    }

    /// Forgets the send times of what was played out, and moves on where no bulk waits, so that no
    /// number is waited for longer than bulk would be.
    pub(super) fn follow(&mut self, now: Instant) {
        self.times.forget_before(self.front);
        if self.bulk.is_empty()
            && let Some(hold) = self.hold.present()
        {
            let micros = self.micros(now);
            // Acknowledgements among them have left in their batch by then. A peer may name any
            // number, so the window moves by no more numbers than it has.
            if let Some(number) = self.times.latest_before(micros - hold - BATCH)
                && number.is_after(self.target)
                && number.ahead_of(self.front) < WINDOW
            {
                self.target = number;
            }
        }
    }
}

#[cfg(test)]
mod tests;
