//! A sender over some paths, and its peer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::adaptive::repair::*;
use crate::adaptive::{PeerReport, Received, RepairCounters, Wants};
use crate::scheduler::Member;

pub(super) const BYTES: u32 = 1_400;
pub(super) const OVERHEAD: u32 = 36;
pub(super) const RTT: Duration = Duration::from_millis(20);

/// A sender over some paths, and the peer as it would see what was sent.
pub(super) struct Scene {
    pub(super) adaptive: Adaptive,
    pub(super) start: Instant,
    pub(super) now: Instant,
    pub(super) number: u32,
    /// By number: how often it was sent, the first time included, and over which path first.
    pub(super) sent: BTreeMap<u32, (u32, u16)>,
    pub(super) resent_bytes: u64,
    pub(super) sent_bytes: u64,
    /// Nothing can be sealed again.
    pub(super) keys_gone: bool,
}

impl Scene {
    #[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
    pub(super) fn new(paths: usize, first: u32) -> Self {
        let start = Instant::now();
        let mut adaptive = Adaptive::new(start);
        adaptive.set_repair(true);
        for slot in 0..paths {
            adaptive.set(slot, Some(member(slot, true)), OVERHEAD);
            let mut rtt = crate::session::Rtt::new();
            (0..50).for_each(|_| rtt.record(RTT));
            adaptive.set_rtt(slot, rtt.known().expect("samples"));
            // Bulk from the beginning.
            if let Some(path) = &mut adaptive.paths[slot] {
                path.role = Role::Bulk;
            }
        }
        adaptive.reorder_paths();
        Self {
            adaptive,
            start,
            now: start + Duration::from_secs(1),
            number: first,
            sent: BTreeMap::new(),
            resent_bytes: 0,
            sent_bytes: 0,
            keys_gone: false,
        }
    }

    /// Returns the runs of numbers that the peer is to be told will not be sent again.
    pub(super) fn refusals(&mut self) -> Vec<(u32, u16)> {
        self.adaptive.take_refusals().to_vec()
    }

    /// Sends the next packet; gives its number.
    pub(super) fn send(&mut self) -> u32 {
        let number = self.number;
        self.adaptive.make_room(BYTES as usize, usize::MAX);
        let tag = Tag {
            protocol: mpt_wire::gre::Protocol::IPV4,
            outer_tos: 0,
            flow_hash: 0,
            protected: false,
            urgent: false,
            way: crate::adaptive::Way::default(),
        };
        let place = self.adaptive.is_keeping().then(|| self.adaptive.add(BYTES, tag));
        let slot = loop {
            if let Some(slot) =
                self.adaptive.leave(self.adaptive.micros(self.now), number, BYTES, Wants::default())
            {
                break slot;
            }
            self.now += Duration::from_micros(100);
        };
        if let Some(place) = place {
            self.adaptive.keep(self.adaptive.micros(self.now), number, place, (0, BYTES));
            self.adaptive.has_left(place);
        }
        self.sent.insert(number, (1, slot));
        self.sent_bytes += u64::from(BYTES + OVERHEAD);
        self.number = number.wrapping_add(1);
        number
    }

    pub(super) fn clock(&self) -> u32 {
        self.now.duration_since(self.start).as_micros() as u32
    }

    /// The peer reports what came on a path: up to `highest`, and when that was.
    pub(super) fn report(&mut self, arrived: &[(u16, u32, u32)], received: &[Received]) {
        let arrived: Vec<_> = arrived
            .iter()
            .map(|&(slot, number, time)| crate::adaptive::Arrived { slot, number, time })
            .collect();
        let time = self.clock();
        let report = PeerReport { clock: 1, time, arrived: &arrived, received };
        self.adaptive.handle_report(self.now, &report);
    }

    /// The peer says what it misses; gives the numbers that are sent again, and where.
    pub(super) fn miss(
        &mut self,
        highest: &[(u16, u32)],
        missing: &[(u32, u16)],
    ) -> Vec<(u32, Vec<u16>)> {
        let (time, complete) = (self.clock(), missing.len() < 32);
        let lack = Lack { clock: 1, time, highest, missing, complete };
        self.adaptive.handle_missing(self.now, &lack, &mut |_| !self.keys_gone);
        self.resent()
    }

    pub(super) fn resent(&mut self) -> Vec<(u32, Vec<u16>)> {
        let mut resent = Vec::new();
        let until = self.now + Duration::from_millis(5);
        loop {
            while let Some(resend) = self.adaptive.take_repair(self.now, |_| true) {
                let slots = resend.slots.to_vec();
                if let Some(sent) = self.sent.get_mut(&resend.number) {
                    sent.0 += slots.len() as u32;
                }
                self.resent_bytes += slots.len() as u64 * u64::from(BYTES + OVERHEAD);
                resent.push((resend.number, slots));
            }
            if self.now >= until {
                return resent;
            }
            self.now += Duration::from_micros(100);
        }
    }

    /// Shows the peer's delays without jitter, so that gaps show losses.
    pub(super) fn warm_up(&mut self) {
        for _ in 0..60 {
            let number = self.send();
            let (_, slot) = self.sent[&number];
            self.now += Duration::from_millis(1);
            let time = self.clock();
            let received = received(slot, number);
            self.report(&[(slot, number, time + 10_000)], &[received]);
        }
    }

    /// Sends so many packets over the only path, of which one in a hundred is lost and sent again. Returns the last number, and the packets that
    /// have come.
    pub(super) fn lose_some(&mut self, count: u32) -> (u32, u32) {
        let (mut last, mut came) = (0, 0);
        for packet in 0..count {
            let number = self.send();
            (last, came) = (number, came + 1);
            if packet % 100 == 50 {
                let after = self.send();
                // As soon as the path has credit again.
                let mut asks = (0..20).map(|_| self.miss(&[(0, after)], &[(number, 1)]));
                let resent = asks.find(|resent| !resent.is_empty());
                assert_eq!(resent, Some(vec![(number, vec![0])]));
                self.now += Duration::from_millis(5);
                self.miss(&[(0, after)], &[]);
                // The repair came in its place.
                (last, came) = (after, came + 1);
            }
        }
        (last, came)
    }

    pub(super) fn counters(&self) -> RepairCounters {
        self.adaptive.paths().fold(RepairCounters::default(), |sum, (_, path)| RepairCounters {
            lost: sum.lost + path.repairs.lost,
            repaired: sum.repaired + path.repairs.repaired,
            late: sum.late + path.repairs.late,
            refused: sum.refused + path.repairs.refused,
            sent: sum.sent + path.repairs.sent,
            bytes: sum.bytes + path.repairs.bytes,
        })
    }

    /// The peer misses a number although it was sent again. Returns over how many paths each try left.
    pub(super) fn miss_again_and_again(&mut self) -> Vec<usize> {
        // Several, so that there is budget for more than one try of one of them.
        let lost: Vec<u32> = (0..24).map(|_| self.send()).collect();
        let mut missing: Vec<_> = lost.iter().map(|&n| (n, 1)).collect();
        let mut copies = Vec::new();
        for _ in 0..40 {
            for _ in 0..4 {
                self.send();
                self.now += Duration::from_millis(1);
            }
            let highest = [0, 1].map(|slot| {
                let of_slot = self.sent.iter().rev().find(|(_, sent)| sent.1 == slot);
                (slot, *of_slot.expect("both carry data").0)
            });
            // Both paths have credit again.
            self.now += Duration::from_millis(20);
            for (number, slots) in self.miss(&highest, &missing) {
                assert!(lost.contains(&number));
                if number == lost[0] {
                    copies.push(slots.len());
                }
            }
            missing = vec![(lost[0], 1)];
        }
        assert_eq!(self.sent[&lost[0]].0 as usize, 1 + copies.iter().sum::<usize>());
        copies
    }
}

pub(super) fn member(slot: usize, up: bool) -> Member {
    Member { weight: 1, tier: 0, up, identity: slot as u64 }
}

pub(super) fn received(slot: u16, highest: u32) -> Received {
    Received { slot: slot.into(), packets: 1, bytes: BYTES, highest, settled: None, marked: 0 }
}
