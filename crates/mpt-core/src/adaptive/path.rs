//! One path of the sender: what is known of it, and what it was given.

use super::log::{Sent, SentLog};
use super::pacer::Pacer;
use super::role::Role;
use crate::path::model::Model;
use crate::scheduler::Member;

/// One path of an adaptive sender. Times are microseconds of the sender's clock.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    /// What the scheduler knows of it.
    pub(crate) member: Member,
    /// Bytes around an inner packet on this path.
    pub(crate) overhead: u32,
    /// Whether it carries IPv6.
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
    /// Copies that it was given.
    pub(crate) copies: SentLog,
    /// When it got the last copy.
    pub(crate) copied: i64,
}

impl Sender {
    pub(crate) fn new(member: Member, overhead: u32, ipv6: bool) -> Self {
        Self {
            member,
            overhead,
            ipv6,
            model: Model::new(),
            pacer: Pacer::new(),
            packets: 0,
            bytes: 0,
            last: None,
            backlogged: false,
            role: Role::Trial,
            usual_rtt: 0.0,
            delay: 0.0,
            copies: SentLog::default(),
            copied: 0,
        }
    }

    /// Gives it a packet of `size` inner bytes. Returns what it had been given before.
    #[inline]
    pub(crate) fn give(&mut self, now: i64, slot: u16, number: u32, size: u32) -> (Sent, u32) {
        let size = size + self.overhead;
        let before = Sent { slot, time: now, packets: self.packets, bytes: self.bytes };
        self.pacer.charge(now, size, self.model.rate());
        self.packets = self.packets.wrapping_add(1);
        self.bytes += u64::from(size);
        self.last = Some(number);
        (before, size)
    }
}
