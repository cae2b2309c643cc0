//! One path of the sender: its model, its role, and the counts of what was sent over it.

use std::collections::VecDeque;
use std::time::Duration;

use super::load::Load;
use super::log::{Sent, SentLog};
use super::pacer::Pacer;
use super::repair::keep::AGE;
use crate::path::model::Model;
use crate::path::model::observed::delay::{BELOW_MEAN, USUAL, latest_delay};
use crate::scheduler::Member;
use crate::sequence::Sequence;
use crate::session::RttEstimate;

/// A path that carries no bulk gets a copy of one packet in this many.
const ASIDE_EVERY: u32 = 32;
/// RTTVAR in standard deviations of the one-way delay, where both directions jitter alike: a mean
/// deviation is 0.8 standard deviations, and that of the round-trip time is 1.41 times that of one
/// direction.
const VARIATION: f64 = 1.13;
/// Time between two copies on one path, in microseconds.
const COPY_INTERVAL: i64 = 100;
/// Time between two copies on a path that bulk avoids because of a queue, in microseconds. The
/// copies show whether the queue still stands.
const LOOK_INTERVAL: i64 = 5_000;
/// The number of counted packets below which a survey is the better estimate of the loss.
const SURVEYED: u32 = 1_000;
/// The number of repairs that are remembered per path.
const MOST_RESENT: usize = 4_096;
/// The number of numbers held for lost that are remembered per path.
const MOST_JUDGED: usize = 4_096;

/// The role of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The path carries bulk.
    Bulk,
    /// The path gets copies until its loss is known.
    Trial,
    /// The path costs more than it adds, or this is not known yet, and carries bulk at its
    /// `min_rate` as configured.
    Least,
    /// The path costs more than it adds. A few copies show when that changes.
    Aside,
}

impl Role {
    /// Returns true if the path carries packets of bulk flows, and not only copies.
    pub(crate) const fn carries_bulk(self) -> bool {
        matches!(self, Self::Bulk | Self::Least)
    }
}

/// The counters of repairs on one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepairCounters {
    /// Packets that were judged to be lost on the path.
    pub lost: u64,
    /// Lost packets that arrived after they were sent again.
    pub repaired: u64,
    /// Packets judged to be lost that arrived before a repair could have, so that they were only
    /// late.
    pub late: u64,
    /// Lost packets that were not sent again because repairs had used their whole share of the
    /// bytes.
    pub refused: u64,
    /// Packets that were sent again over the path.
    pub sent: u64,
    /// The bytes of packets that were sent again over the path, outer headers included.
    pub bytes: u64,
}

/// One path of an adaptive sender. Times are microseconds of the sender's clock.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    /// The configuration and state of the path, as the scheduler has it.
    pub(crate) member: Member,
    /// Bytes around an inner packet on this path.
    pub(crate) overhead: u32,
    /// True if the path carries IPv6.
    pub(crate) ipv6: bool,
    pub(crate) model: Model,
    pub(crate) pacer: Pacer,
    /// Packets and bytes sent over the path.
    pub(crate) packets: u32,
    pub(crate) bytes: u64,
    /// The highest number sent over the path.
    pub(crate) last: Option<u32>,
    /// True if packets have waited for credit of the path since the last report.
    pub(crate) backlogged: bool,
    pub(crate) role: Role,
    /// The mean deviation of the round-trip time in the last survey, in microseconds; 0 before the first.
    pub(crate) surveyed_variation: f64,
    /// The usual round-trip time of the path's probes, in microseconds.
    pub(crate) usual_rtt: f64,
    /// The one-way delay without a queue, in microseconds, comparable with that of other paths.
    pub(crate) delay: f64,
    /// The queue that stands in the path although it is given less, in microseconds. It is mostly
    /// that of other traffic.
    pub(crate) foreign_queue: f64,
    /// The log of copies sent over the path.
    pub(crate) copies: SentLog,
    /// The time of the last copy.
    pub(crate) copied: i64,
    /// The time at which the highest number was sent.
    pub(crate) given_at: i64,
    /// The highest number at the last end mark.
    pub(crate) marked: Option<u32>,
    /// The send time and the number of the latest packet that the path has delivered.
    pub(crate) delivered: Option<(i64, u32)>,
    /// The time at which a packet last came on the path after one that left later, or may have,
    /// since delays jittered; `None` while the path keeps the order of packets.
    pub(crate) overtaken_at: Option<i64>,
    /// The send times and numbers of recent repairs over the path.
    pub(crate) resent: VecDeque<(i64, u32)>,
    pub(crate) repairs: RepairCounters,
    /// The kind of the path by its losses.
    pub(crate) kind: Kind,
    /// The loss that a survey has shown before there was data.
    pub(crate) surveyed: Option<f64>,
    /// The time since which the path seems to lose packets at random.
    pub(crate) lossy_since: Option<i64>,
    /// The beginning of the present comparison of losses.
    pub(crate) compared: Option<Compared>,
    /// The numbers that were judged to be lost since then.
    pub(crate) judged: VecDeque<Sequence>,
    /// The load by flows that are confined to the path.
    pub(super) confined: Load,
}

/// The kind of a path by its losses: whether it loses packets at random, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Too few packets have been counted.
    Unknown,
    Clean,
    Lossy,
}

/// Packets of a path that were sent up to the one of number `last`, and those of them that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared {
    pub(crate) last: Sequence,
    pub(crate) sent: u32,
    pub(crate) came: u32,
}

impl Sender {
    pub(crate) fn new(member: Member, overhead: u32) -> Self {
        Self {
            member,
            overhead,
            ipv6: true,
            model: Model::new(),
            pacer: Pacer::new(),
            packets: 0,
            bytes: 0,
            last: None,
            backlogged: false,
            role: Role::Trial,
            usual_rtt: 0.0,
            delay: 0.0,
            foreign_queue: 0.0,
            copies: SentLog::default(),
            copied: 0,
            given_at: 0,
            marked: None,
            delivered: None,
            overtaken_at: None,
            resent: VecDeque::new(),
            repairs: RepairCounters::default(),
            kind: Kind::Unknown,
            surveyed: None,
            surveyed_variation: 0.0,
            lossy_since: None,
            compared: None,
            judged: VecDeque::new(),
            confined: Load::default(),
        }
    }

    /// Returns the share of packets that the path loses at random, as far as is known.
    pub(crate) fn loss(&self) -> f64 {
        match (self.model.loss(), self.surveyed) {
            ((counted, _), Some(surveyed)) if counted < SURVEYED => surveyed,
            ((_, loss), _) => loss,
        }
    }

    /// Returns true if the path may lose packets at random, as far as is known. A path on trial
    /// that has no jitter and has lost no packet is taken for a cable, which mostly loses none.
    pub(crate) fn may_lose(&self) -> bool {
        match (self.kind, self.role) {
            (Kind::Clean, _) | (_, Role::Aside) => false,
            (Kind::Lossy, _) | (Kind::Unknown, Role::Bulk | Role::Least) => true,
            (Kind::Unknown, Role::Trial) => self.model.sigma() > 0.0 || self.model.loss().1 > 0.0,
        }
    }

    /// Takes the round-trip time that the probes have measured.
    pub(crate) fn set_rtt(&mut self, rtt: RttEstimate) {
        let micros = |time: Duration| time.as_micros() as f64;
        self.usual_rtt = micros(rtt.smoothed);
        // Delays that change from time to time do so seldom among the latest few probes.
        let variation = micros(rtt.variation).max(self.surveyed_variation);
        self.model.set_jitter(variation / VARIATION);
        // If delays jitter, hardly any packet takes the minimum of many round-trip times, so the smoothed one is used.
        let rtt = if self.model.sigma() > 0.0 { rtt.smoothed } else { rtt.minimum };
        self.model.set_rtt(micros(rtt));
    }

    /// Returns the time within which most packets arrive, in microseconds, as far as probes show:
    /// half of the usual round-trip time, and what jitter may add to it.
    pub(crate) fn probed_delay(&self) -> f64 {
        // The variation of a round-trip time begins with half of that (RFC 6298), which is no jitter.
        let sigma = if self.surveyed.is_some() { self.model.sigma() } else { 0.0 };
        self.usual_rtt / 2.0 + (USUAL - BELOW_MEAN) * sigma
    }

    /// Returns true if a packet leaves over the path now: with credit, or on loan where it is `sparse`. Otherwise it
    /// waits, and the path could have carried more. `silent`: the peer sends no reports.
    #[inline]
    pub(super) fn admits(&mut self, now: i64, sparse: bool, silent: bool) -> bool {
        if silent && !self.model.has_ceiling() {
            // What leaves without a limit is not to be paid for by the packets that follow.
            self.pacer.release(now);
        }
        let lends = sparse && self.pacer.lends(now, self.model.rate());
        let leaves = lends || self.pacer.has_credit(now);
        self.backlogged |= !leaves;
        leaves
    }

    /// Sends a packet of `size` inner bytes over the path, after packets have waited `waited`
    /// microseconds for its credit. Returns what had been sent over the path before.
    #[inline]
    pub(crate) fn give(
        &mut self,
        now: i64,
        slot: u16,
        (number, size): (u32, u32),
        waited: i64,
    ) -> (Sent, u32) {
        let size = size + self.overhead;
        let before = Sent { slot: Some(slot), time: now, packets: self.packets, bytes: self.bytes };
        self.pacer.charge(now, size, self.model.rate(), waited);
        self.packets = self.packets.wrapping_add(1);
        self.bytes += u64::from(size);
        self.last = Some(number);
        self.given_at = now;
        (before, size)
    }

    /// Sends a copy of a packet over the path, as [`Self::give`] sends the packet itself, and logs it
    /// apart from those. Returns its outer bytes.
    pub(crate) fn give_copy(
        &mut self,
        now: i64,
        slot: u16,
        (number, size): (u32, u32),
        waited: i64,
    ) -> u32 {
        let (before, size) = self.give(now, slot, (number, size), waited);
        self.copies.note(number, size, 0, before);
        size
    }

    /// Sends a repair of `size` outer bytes over the path, while other packets have waited for
    /// `waited` microseconds.
    pub(crate) fn resend(&mut self, now: i64, (number, size): (u32, u32), waited: i64) {
        self.pacer.charge(now, size, self.model.rate(), waited);
        self.packets = self.packets.wrapping_add(1);
        self.bytes += u64::from(size);
        self.repairs.sent += 1;
        self.repairs.bytes += u64::from(size);
        let old = |&(at, _): &(i64, u32)| at < now - 2 * AGE;
        while self.resent.front().is_some_and(old) || self.resent.len() == MOST_RESENT {
            self.resent.pop_front();
        }
        self.resent.push_back((now, number));
    }

    /// Notes that a number, which left over this path, was judged to be lost.
    pub(crate) fn note_judged(&mut self, number: Sequence) {
        self.repairs.lost += 1;
        if self.judged.len() == MOST_JUDGED {
            self.judged.pop_front();
        }
        self.judged.push_back(number);
    }

    /// Forgets the numbers up to `last` that were judged to be lost, and returns how many there were.
    pub(crate) fn take_judged(&mut self, last: Sequence) -> u32 {
        let before = self.judged.len();
        self.judged.retain(|number| number.is_after(last));
        (before - self.judged.len()) as u32
    }

    /// Returns the usual round-trip time without queues, in microseconds. The least one of a path that wanders is far below it.
    pub(crate) fn usual_round_trip(&self) -> f64 {
        self.usual_rtt.max(self.model.rtt())
    }

    /// Returns how long after [`Sender::delay`] nearly all packets have arrived where no more than the tolerated queue stands, in microseconds.
    /// The receiver plays bulk out when that is over on each of the paths.
    pub(crate) fn margin(&self) -> f64 {
        let (sigma, wander) = (self.model.sigma(), self.model.wander());
        latest_delay(-USUAL * sigma, sigma, wander, self.model.threshold())
    }

    /// Returns true if the path has delivered a packet that left after `left`. `number` is that of
    /// a packet that left then for the first time.
    pub(crate) fn has_passed(&self, number: Option<Sequence>, left: i64) -> bool {
        self.delivered.is_some_and(|(time, other)| {
            let after = number.is_some_and(|number| Sequence(other).is_after(number));
            time > left || time == left && after
        })
    }

    /// Returns true if a number was sent again over this path recently.
    pub(crate) fn has_resent(&self, number: u32) -> bool {
        self.resent.iter().any(|&(_, other)| other == number)
    }

    /// Returns how many numbers up to `number` were sent again over this path after `from` and up to `to`.
    pub(crate) fn resent_between(&self, number: u32, from: i64, to: i64) -> u32 {
        let number = Sequence(number);
        let counts = |&&(at, other): &&(i64, u32)| {
            from < at && at <= to && !Sequence(other).is_after(number)
        };
        self.resent.iter().filter(counts).count() as u32
    }

    /// Returns true if this path gets a copy of a packet that another path carries. `turn` counts
    /// packets.
    pub(crate) fn wants_copy(&self, now: i64, turn: u32) -> bool {
        let (due, interval) = match self.role {
            Role::Bulk | Role::Least => (self.foreign_queue > 0.0, LOOK_INTERVAL),
            Role::Trial => (true, COPY_INTERVAL),
            Role::Aside => (turn.is_multiple_of(ASIDE_EVERY), COPY_INTERVAL),
        };
        due && now >= self.copied + interval && self.pacer.has_credit(now)
    }
}

/// Returns the path in a slot, if the slot is known and there is one.
pub(super) fn path_in(paths: &mut [Option<Sender>], slot: Option<u16>) -> Option<&mut Sender> {
    paths.get_mut(usize::from(slot?))?.as_mut()
}
