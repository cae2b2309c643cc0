//! The flows of a queue and the order in which they have their turns.

use std::num::NonZeroU16;

use super::law::Standing;
use super::slots::Chain;
use crate::StoreId;

/// Number of the buckets that flows are hashed into (RFC 8290 section 4.1.1). Flows that share a
/// bucket are one flow.
pub const BUCKETS: usize = 1024;

/// Bytes that a flow may send in its turn (RFC 8290 section 5.2.4).
pub const QUANTUM: u32 = 1514;

/// A link to a flow.
type Link = super::link::Link<NonZeroU16>;

/// The list that a flow stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// The list of sparse flows, which go first.
    New,
    /// The list of bulk flows.
    Old,
}

/// The amount by which a flow is the fattest.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    Bytes,
    Packets,
}

/// A flow of which packets wait, or of which packets have just left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Its packets, valid while its load has any.
    pub(super) chain: Chain,
    /// Segments of its packets.
    pub(super) segments: u64,
    /// Bytes that it may still send in this turn; below 0, what it has sent too much.
    pub(super) deficit: i64,
    pub(super) standing: Standing,
    /// The next segment leaves with a mark.
    pub(super) mark: bool,
    /// The next flow of its list, or the next free entry.
    next: Option<Link>,
}

/// The amount of a flow that waits. It stands apart from [`Flow`] because the search for the
/// fattest flow reads nothing else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) bytes: usize,
    pub(super) packets: u32,
    pub(super) bucket: u16,
}

/// A list of flows, chained by [`Flow::next`].
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: Option<Link>,
    last: Option<Link>,
}

impl Ends {
    const EMPTY: Self = Self { first: None, last: None };

    fn push(&mut self, flows: &mut [Flow], index: u16) {
        let link = Some(Link::to(index));
        flows[usize::from(index)].next = None;
        match self.last {
            None => self.first = link,
            Some(last) => flows[usize::from(last.index())].next = link,
        }
        self.last = link;
    }

    fn pop(&mut self, flows: &[Flow]) -> Option<u16> {
        let index = self.first?.index();
        self.first = flows[usize::from(index)].next;
        if self.first.is_none() {
            self.last = None;
        }
        Some(index)
    }
}

/// The flow table. It takes 2 KiB for the buckets, and about 100 bytes for each of the most flows that
/// ever waited at the same time; without traffic it takes nothing.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    /// By bucket: its flow.
    buckets: Vec<Option<Link>>,
    flows: Vec<Flow>,
    loads: Vec<Load>,
    free: Option<Link>,
    new: Ends,
    old: Ends,
}

impl Flows {
    pub(super) const fn new() -> Self {
        Self {
            buckets: Vec::new(),
            flows: Vec::new(),
            loads: Vec::new(),
            free: None,
            new: Ends::EMPTY,
            old: Ends::EMPTY,
        }
    }

    #[inline]
    pub(super) fn get(&self, index: u16) -> (&Flow, &Load) {
        (&self.flows[usize::from(index)], &self.loads[usize::from(index)])
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u16) -> (&mut Flow, &mut Load) {
        (&mut self.flows[usize::from(index)], &mut self.loads[usize::from(index)])
    }

    /// Returns the bytes of the flow of a hash that wait.
    pub(super) fn bytes_of(&self, hash: u64) -> usize {
        let found = self.buckets.get((hash % BUCKETS as u64) as usize).copied().flatten();
        found.map_or(0, |found| self.loads[usize::from(found.index())].bytes)
    }

    /// Returns the flow of a hash. One that is in no list becomes a new flow with a full quantum
    /// (RFC 8290 section 4.1). `packet` fills its chain if no packet of it waits.
    pub(super) fn enter(&mut self, hash: u64, packet: StoreId) -> u16 {
        if self.buckets.is_empty() {
            self.buckets = vec![None; BUCKETS];
        }
        let bucket = (hash % BUCKETS as u64) as u16;
        if let Some(found) = self.buckets[usize::from(bucket)] {
            return found.index();
        }
        let flow = Flow {
            chain: Chain::of(packet),
            segments: 0,
            deficit: i64::from(QUANTUM),
            standing: Standing::default(),
            mark: false,
            next: None,
        };
        let load = Load { bytes: 0, packets: 0, bucket };
        let index = match self.free {
            None => {
                self.flows.push(flow);
                self.loads.push(load);
                (self.flows.len() - 1) as u16
            }
            Some(free) => {
                let index = free.index();
                self.free = self.flows[usize::from(index)].next;
                self.flows[usize::from(index)] = flow;
                self.loads[usize::from(index)] = load;
                index
            }
        };
        self.buckets[usize::from(bucket)] = Some(Link::to(index));
        self.new.push(&mut self.flows, index);
        index
    }

    /// Returns the flow whose turn it is.
    #[inline]
    pub(super) const fn head(&self) -> Option<(u16, List)> {
        match (self.new.first, self.old.first) {
            (None, None) => None,
            (None, Some(old)) => Some((old.index(), List::Old)),
            (Some(new), _) => Some((new.index(), List::New)),
        }
    }

    /// Moves the flow whose turn it is to the end of the old flows.
    #[inline]
    pub(super) fn end_turn(&mut self) {
        if let Some(index) = self.pop_head() {
            self.old.push(&mut self.flows, index);
        }
    }

    /// Removes the flow whose turn it is, of which nothing waits.
    pub(super) fn retire(&mut self) {
        if let Some(index) = self.pop_head() {
            self.buckets[usize::from(self.loads[usize::from(index)].bucket)] = None;
            self.flows[usize::from(index)].next = self.free;
            self.free = Some(Link::to(index));
        }
    }

    fn pop_head(&mut self) -> Option<u16> {
        self.new.pop(&self.flows).or_else(|| self.old.pop(&self.flows))
    }

    /// Returns the flow of which most waits; of equal ones that of the lowest bucket, so that the
    /// choice does not depend on the flows before. `None`: nothing waits.
    pub(super) fn fattest(&self, by: By) -> Option<u16> {
        let most = match by {
            By::Bytes => self.most(|load| load.bytes),
            By::Packets => self.most(|load| load.packets as usize),
        }?;
        self.buckets[usize::from(most)].map(Link::index)
    }

    /// Returns the bucket of the flow with the largest amount. Amount and bucket are compared as one
    /// number, which takes no branches: with a thousand flows of about the same amount they would
    /// cost more than all the rest.
    fn most(&self, amount: impl Fn(&Load) -> usize) -> Option<u16> {
        let last = BUCKETS as u64 - 1;
        let ranks = self.loads.iter().map(|load| {
            let rank = (amount(load) as u64 + 1) * BUCKETS as u64 + last - u64::from(load.bucket);
            rank * u64::from(load.packets > 0)
        });
        let most = ranks.max().filter(|&rank| rank > 0)?;
        Some((last - most % BUCKETS as u64) as u16)
    }

    /// Returns the number of flows of which packets wait.
    pub(super) fn waiting(&self) -> usize {
        self.loads.iter().filter(|load| load.packets > 0).count()
    }
}
