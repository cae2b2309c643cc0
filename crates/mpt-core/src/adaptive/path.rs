//! One path of the sender: what is known of it, and what it was given.

use std::collections::VecDeque;
use std::time::Duration;

use super::keep::AGE;
use super::log::{Sent, SentLog};
use super::pacer::Pacer;
use crate::path::model::Model;
use crate::scheduler::Member;
use crate::sequence::Sequence;
use crate::session::RttEstimate;

/// A path that stands aside gets a copy of every so many packets.
const ASIDE_EVERY: u32 = 32;
/// RTTVAR is so many standard deviations of the delay in one direction, where both jitter alike: the mean
/// deviation is 0.8 standard ones, and the round-trip time has 1.41 of those of one direction.
const VARIATION: f64 = 1.13;
/// Time between two copies on one path, in microseconds.
const COPY_INTERVAL: i64 = 100;
/// Time between two copies on a path that bulk avoids because of a queue, in microseconds: they show if it still stands.
const LOOK_INTERVAL: i64 = 5_000;
/// With fewer packets counted, a survey says more.
const SURVEYED: u32 = 1_000;
/// Packets sent again that are remembered.
const MOST_RESENT: usize = 4_096;

/// What a path is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It carries what there is.
    Bulk,
    /// It gets copies until its loss is known.
    Trial,
    /// It brings less than it costs, or that is not known yet, and carries its least rate all the same, as its owner
    /// wants.
    Least,
    /// It brings less than it costs. A few copies show when that changes.
    Aside,
}

impl Role {
    /// True if packets of bulk flows are given to the path, and not only copies.
    pub(crate) const fn carries_bulk(self) -> bool {
        matches!(self, Self::Bulk | Self::Least)
    }
}

/// What was sent again over one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepairCounters {
    /// Packets of the path that were lost on it, as far as their loss was judged.
    pub lost: u64,
    /// Those of them that came after they were sent again.
    pub repaired: u64,
    /// Those of them that came by themselves, before a repair could have: they were only late.
    pub late: u64,
    /// Those of them that were not sent again: repairs had taken all they may.
    pub refused: u64,
    /// Packets that were sent again over the path.
    pub sent: u64,
    /// Their bytes, outer headers included.
    pub bytes: u64,
}

/// One path of an adaptive sender. Times are microseconds of the sender's clock.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    /// What the scheduler knows of it.
    pub(crate) member: Member,
    /// Bytes around an inner packet on this path.
    pub(crate) overhead: u32,
    /// True if it carries IPv6.
    pub(crate) ipv6: bool,
    pub(crate) model: Model,
    pub(crate) pacer: Pacer,
    /// Packets and bytes given to it.
    pub(crate) packets: u32,
    pub(crate) bytes: u64,
    /// The highest number it was given.
    pub(crate) last: Option<u32>,
    /// Since the last report packets waited for it to have credit.
    pub(crate) backlogged: bool,
    pub(crate) role: Role,
    /// The usual round-trip time of its probes, in microseconds.
    pub(crate) usual_rtt: f64,
    /// One-way delay without a queue, to be compared with that of other paths, in microseconds.
    pub(crate) delay: f64,
    /// The queue that stands in it although it is given less, in microseconds: mostly that of others.
    pub(crate) foreign_queue: f64,
    /// Copies that it was given.
    pub(crate) copies: SentLog,
    /// When it got the last copy.
    pub(crate) copied: i64,
    /// When it was given the latest number.
    pub(crate) given_at: i64,
    /// The highest number when the peer was last told that the path is quiet.
    pub(crate) marked: Option<u32>,
    /// What left last of what it has delivered: when, and its number.
    pub(crate) delivered: Option<(i64, u32)>,
    /// What was sent again over it lately: when, and the number.
    pub(crate) resent: VecDeque<(i64, u32)>,
    pub(crate) repairs: RepairCounters,
    /// Whether it loses packets by chance.
    pub(crate) kind: Kind,
    /// What a survey has shown of its loss, before there was data.
    pub(crate) surveyed: Option<f64>,
    /// Since when it seems to.
    pub(crate) lossy_since: Option<i64>,
    /// Where the present comparison of losses began.
    pub(crate) compared: Option<Compared>,
}

/// Whether a path loses packets by chance, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Too few were counted yet.
    Unknown,
    Clean,
    Lossy,
}

/// Packets of a path that were sent, that came, and that were held for lost, up to some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared {
    pub(crate) sent: u32,
    pub(crate) came: u32,
    pub(crate) judged: u64,
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
            resent: VecDeque::new(),
            repairs: RepairCounters::default(),
            kind: Kind::Unknown,
            surveyed: None,
            lossy_since: None,
            compared: None,
        }
    }

    /// The share of packets that it loses by chance, as far as is known.
    pub(crate) fn loss(&self) -> f64 {
        match (self.model.loss(), self.surveyed) {
            ((counted, _), Some(surveyed)) if counted < SURVEYED => surveyed,
            ((_, loss), _) => loss,
        }
    }

    /// True if packets may be lost on it by chance, as far as is known. A path that is tried and has neither
    /// jitter nor lost a packet is a cable, which mostly loses none.
    pub(crate) fn may_lose(&self) -> bool {
        match (self.kind, self.role) {
            (Kind::Clean, _) | (_, Role::Aside) => false,
            (Kind::Lossy, _) | (Kind::Unknown, Role::Bulk | Role::Least) => true,
            (Kind::Unknown, Role::Trial) => self.model.sigma() > 0.0 || self.model.loss().1 > 0.0,
        }
    }

    /// What its probes say of its round-trip time.
    pub(crate) fn set_rtt(&mut self, rtt: RttEstimate) {
        let micros = |time: Duration| time.as_micros() as f64;
        self.usual_rtt = micros(rtt.smoothed);
        self.model.set_jitter(micros(rtt.variation) / VARIATION);
        // Where delays jitter, the least of many is none that packets have.
        let rtt = if self.model.sigma() > 0.0 { rtt.smoothed } else { rtt.minimum };
        self.model.set_rtt(micros(rtt));
    }

    /// Gives it a packet of `size` inner bytes, after packets have waited for it for `waited` microseconds. Returns what
    /// it had been given before.
    #[inline]
    pub(crate) fn give(
        &mut self,
        now: i64,
        slot: u16,
        (number, size): (u32, u32),
        waited: i64,
    ) -> (Sent, u32) {
        let size = size + self.overhead;
        let before = Sent { slot, time: now, packets: self.packets, bytes: self.bytes };
        self.pacer.charge(now, size, self.model.rate(), waited);
        self.packets = self.packets.wrapping_add(1);
        self.bytes += u64::from(size);
        self.last = Some(number);
        self.given_at = now;
        (before, size)
    }

    /// Gives it a packet of `size` outer bytes that was sent before, while others have waited for `waited` microseconds.
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

    /// True if a number was sent again over this path lately.
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

    /// True if a copy of a packet that another path carries is sent on this one. `turn` counts packets.
    pub(crate) fn wants_copy(&self, now: i64, turn: u32) -> bool {
        let (due, interval) = match self.role {
            Role::Bulk | Role::Least => (self.foreign_queue > 0.0, LOOK_INTERVAL),
            Role::Trial => (true, COPY_INTERVAL),
            Role::Aside => (turn.is_multiple_of(ASIDE_EVERY), COPY_INTERVAL),
        };
        due && now >= self.copied + interval && self.pacer.has_credit(now)
    }
}
