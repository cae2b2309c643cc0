//! An owner that checks what holds after every call.

use std::time::{Duration, Instant};

use mpt_core::StoreId;
use mpt_core::queue::{Dropped, FairQueue, Full, Left, Limits, Waiting};

/// An instant to count from. Any will do, it never reaches a result.
#[expect(clippy::disallowed_methods, reason = "there is no other way to make an Instant")]
pub(crate) fn origin() -> Instant {
    Instant::now()
}

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Bounds that no test reaches by accident.
pub(crate) const WIDE: Limits = Limits { bytes: 100_000_000, packets: 100_000 };

/// A packet of so many segments of the same size, not ECN-capable.
pub(crate) const fn packet(flow: u64, segments: u16, bytes: u32) -> Waiting<u64> {
    let total = bytes * segments as u32;
    Waiting {
        flow,
        segments,
        largest: bytes,
        total,
        first: 0,
        ect: false,
        spreads: true,
        acknowledges: None,
        tag: flow,
    }
}

/// An owner of a queue, whose store has the number of the segment that each packet sends next.
pub(crate) struct Owner {
    pub(crate) queue: FairQueue<u64>,
    store: Vec<Option<u16>>,
    taken: u64,
}

impl Owner {
    pub(crate) fn new(limits: Limits) -> Self {
        let queue = FairQueue::new(limits);
        Self { queue, store: vec![None; limits.packets], taken: 0 }
    }

    /// Adds a packet and lets go of what is dropped for it.
    pub(crate) fn push(&mut self, now: Instant, packet: Waiting<u64>) -> Result<StoreId, Full> {
        let id = self.push_only(now, packet)?;
        self.let_go();
        Ok(id)
    }

    /// Adds a packet, leaving reports of drops where they are.
    pub(crate) fn push_only(
        &mut self,
        now: Instant,
        packet: Waiting<u64>,
    ) -> Result<StoreId, Full> {
        let result = self.queue.push(now, packet);
        if let Ok(id) = result {
            let place = &mut self.store[id.0 as usize];
            assert_eq!(*place, None, "{id:?} was not free");
            *place = Some(packet.first);
            self.taken += u64::from(packet.segments - packet.first);
        }
        self.check();
        result
    }

    /// Takes a segment and lets go of what is dropped before it.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Left<u64>> {
        let left = self.pop_only(now);
        self.let_go();
        left
    }

    /// Takes a segment, leaving reports of drops where they are.
    pub(crate) fn pop_only(&mut self, now: Instant) -> Option<Left<u64>> {
        let left = self.queue.pop(now);
        if let Some(left) = left {
            let place = &mut self.store[left.id.0 as usize];
            let next = place.expect("a packet that waits");
            assert!(left.segment >= next, "{left:?} after segment {next}");
            *place = (!left.last).then_some(left.segment + 1);
        }
        self.check();
        left
    }

    /// Takes one report of drops.
    pub(crate) fn pop_dropped(&mut self) -> Option<Dropped<u64>> {
        let dropped = self.queue.pop_dropped();
        if let Some(dropped) = dropped {
            assert!(dropped.segments > 0);
            if dropped.last {
                let place = self.store[dropped.id.0 as usize].take();
                assert!(place.is_some(), "{dropped:?} was released before");
            }
        }
        self.check();
        dropped
    }

    pub(crate) fn let_go(&mut self) {
        while self.pop_dropped().is_some() {}
    }

    pub(crate) fn clear(&mut self) {
        self.queue.clear();
        self.store.fill(None);
        self.check();
    }

    /// Takes everything out. Returns the bytes that left by tag, up to `flows` flows.
    pub(crate) fn drain(&mut self, now: Instant, flows: usize) -> Vec<u64> {
        let mut bytes = vec![0; flows];
        while let Some(left) = self.pop(now) {
            bytes[left.tag as usize] += u64::from(left.bytes);
        }
        assert!(self.store.iter().all(Option::is_none), "a packet was never released");
        bytes
    }

    fn check(&self) {
        let (queue, limits) = (&self.queue, self.queue.limits());
        assert!(queue.len_bytes() <= limits.bytes);
        assert!(queue.len_packets() < limits.packets.max(1));
        assert!(queue.len_packets() <= queue.len_segments());
        assert_eq!(queue.is_empty(), queue.flows() == 0);
        let it = queue.counters();
        let gone = it.left + it.dropped + it.overflowed + it.superseded + it.cleared;
        assert_eq!(self.taken, gone + queue.len_segments() as u64, "{it:?}");
    }
}
