//! RFC 8290's queue as plainly as its text, of single segments, with the law of this one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use mpt_core::StoreId;
use mpt_core::queue::{BUCKETS, Counters, Dropped, Full, Head, Left, Limits, QUANTUM, Waiting};
use mpt_wire::tcp::acknowledgement::{Acknowledgement, Block};

#[derive(Clone, Copy)]
struct Segment {
    id: StoreId,
    flow: u64,
    number: u16,
    bytes: u32,
    last: bool,
    ect: bool,
    spreads: bool,
    acknowledges: Option<Acknowledgement>,
    mark: bool,
    tag: u64,
    arrival: Instant,
}

#[derive(Default)]
struct Flow {
    segments: VecDeque<Segment>,
    credits: i64,
    above_since: Option<Instant>,
}

impl Flow {
    fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.bytes)).sum()
    }

    fn packets(&self) -> u64 {
        self.segments.iter().filter(|segment| segment.last).count() as u64
    }
}

pub(crate) struct Model {
    limits: Limits,
    law: Option<(Duration, Duration, Duration)>,
    pub(crate) best_rate: u64,
    flows: BTreeMap<u64, Flow>,
    /// By bucket, whether packets of it wait or not.
    paused_until: BTreeMap<u64, Instant>,
    new: VecDeque<u64>,
    old: VecDeque<u64>,
    reports: VecDeque<Dropped<u64>>,
    pub(crate) counters: Counters,
}

impl Model {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            law: None,
            best_rate: 0,
            flows: BTreeMap::new(),
            paused_until: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            reports: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    pub(crate) const fn set_target(
        &mut self,
        target: Duration,
        interval: Duration,
        round_trip: Duration,
    ) {
        self.law = Some((target, interval, round_trip));
    }

    pub(crate) fn shrink(&mut self) {
        if self.len().1 == 0 && self.reports.is_empty() {
            self.paused_until.clear();
        }
    }

    fn all(&self) -> impl Iterator<Item = &Segment> {
        self.flows.values().flat_map(|flow| &flow.segments)
    }

    pub(crate) fn len(&self) -> (usize, usize, usize) {
        let bytes = self.all().map(|segment| segment.bytes as usize).sum();
        let packets = self.all().filter(|segment| segment.last).count();
        (bytes, self.all().count(), packets)
    }

    pub(crate) fn waiting_flows(&self) -> usize {
        self.flows.values().filter(|flow| !flow.segments.is_empty()).count()
    }

    pub(crate) fn sojourn(&self, now: Instant) -> Option<Duration> {
        let flow = &self.flows[&self.fattest(Flow::bytes)?];
        Some(now - flow.segments[0].arrival)
    }

    /// Whether a packet is taken.
    pub(crate) fn takes(&self, packet: &Waiting<u64>) -> Result<(), Full> {
        let places: BTreeSet<StoreId> =
            self.all().map(|it| it.id).chain(self.reports.iter().map(|it| it.id)).collect();
        let bytes = packet.total - packet.largest * u32::from(packet.first);
        let fits = bytes as usize <= self.limits.bytes && self.limits.packets > 1;
        if fits && places.len() < self.limits.packets { Ok(()) } else { Err(Full) }
    }

    /// A packet that is taken gets `id`.
    pub(crate) fn push(&mut self, now: Instant, packet: Waiting<u64>, id: StoreId) {
        let bucket = packet.flow % BUCKETS as u64;
        if !self.new.contains(&bucket) && !self.old.contains(&bucket) {
            self.new.push_back(bucket);
            self.flows.insert(bucket, Flow { credits: QUANTUM.into(), ..Flow::default() });
        }
        for number in packet.first..packet.segments {
            let last = number + 1 == packet.segments;
            let before = packet.largest * u32::from(number);
            let bytes = if last { packet.total - before } else { packet.largest };
            let Waiting { flow, ect, spreads, acknowledges, tag, .. } = packet;
            let acknowledges = acknowledges.filter(|_| packet.segments == 1);
            let (mark, arrival) = (false, now);
            let segment = Segment {
                id,
                flow,
                number,
                bytes,
                last,
                ect,
                spreads,
                acknowledges,
                mark,
                tag,
                arrival,
            };
            self.flows.get_mut(&bucket).unwrap().segments.push_back(segment);
        }
        while self.len().2 >= self.limits.packets {
            let fattest = self.fattest(Flow::packets).unwrap();
            while !self.overflow(fattest).last {}
        }
        while self.len().0 > self.limits.bytes {
            self.overflow(self.fattest(Flow::bytes).unwrap());
        }
    }

    fn fattest(&self, by: impl Fn(&Flow) -> u64) -> Option<u64> {
        let mut fattest = None;
        for (&bucket, flow) in self.flows.iter().filter(|(_, flow)| !flow.segments.is_empty()) {
            if fattest.is_none_or(|(amount, _)| by(flow) > amount) {
                fattest = Some((by(flow), bucket));
            }
        }
        fattest.map(|(_, bucket)| bucket)
    }

    fn overflow(&mut self, bucket: u64) -> Segment {
        let segment = self.drop_segment(bucket);
        self.counters.overflowed += 1;
        self.counters.overflowed_bytes += u64::from(segment.bytes);
        segment
    }

    fn drop_segment(&mut self, bucket: u64) -> Segment {
        let segment = self.flows.get_mut(&bucket).unwrap().segments.pop_front().unwrap();
        let Segment { id, bytes, last, tag, .. } = segment;
        match self.reports.iter_mut().find(|report| report.id == id) {
            Some(report) => {
                report.segments += 1;
                report.bytes += bytes;
                report.last = last;
            }
            None => self.reports.push_back(Dropped { id, segments: 1, bytes, last, tag }),
        }
        segment
    }

    /// The bucket that sends next and whether it is sparse.
    fn next(&mut self, now: Instant) -> Option<(u64, bool)> {
        loop {
            let sparse = !self.new.is_empty();
            let list = if sparse { &mut self.new } else { &mut self.old };
            let bucket = *list.front()?;
            let flow = self.flows.get_mut(&bucket).unwrap();
            if flow.credits <= 0 {
                flow.credits += i64::from(QUANTUM);
                list.pop_front();
                self.old.push_back(bucket);
            } else if !flow.segments.is_empty() {
                self.thin(bucket, now);
                if !sparse {
                    self.apply_law(bucket, now);
                }
                return Some((bucket, sparse));
            } else {
                list.pop_front();
                if sparse {
                    self.old.push_back(bucket);
                } else {
                    self.flows.remove(&bucket);
                }
            }
        }
    }

    /// Acknowledgements that have waited for 5 ms go where the next packet of their flow says more.
    fn thin(&mut self, bucket: u64, now: Instant) {
        loop {
            let segments = &self.flows[&bucket].segments;
            let [Some(first), Some(second)] = [0, 1].map(|index| segments.get(index)) else {
                return;
            };
            let (Some(one), Some(other)) = (first.acknowledges, second.acknowledges) else {
                return;
            };
            let is_higher = one != other && includes(other, one);
            let is_old = now - first.arrival >= Duration::from_millis(5);
            if first.flow != second.flow || !is_higher || !is_old {
                return;
            }
            self.drop_segment(bucket);
            self.counters.superseded += 1;
        }
    }

    fn apply_law(&mut self, bucket: u64, now: Instant) {
        let Some((target, interval, round_trip)) = self.law else { return };
        let waiting = self.len().0 as u64;
        let flow = self.flows.get_mut(&bucket).unwrap();
        let sojourn = now - flow.segments[0].arrival;
        let mut judged = sojourn;
        if self.best_rate > 0 && flow.segments[0].spreads {
            let at_best = Duration::from_micros(waiting * 1_000_000 / self.best_rate);
            judged = at_best.clamp(sojourn / 8, sojourn);
        }
        if judged <= target || flow.segments.len() == 1 {
            flow.above_since = None;
            return;
        }
        let since = *flow.above_since.get_or_insert(now);
        if now - since < interval
            || self.paused_until.get(&bucket).is_some_and(|&until| now < until)
        {
            return;
        }
        let counts = sojourn.min(4 * round_trip);
        self.paused_until.insert(bucket, now + (round_trip + counts) * 3 / 2);
        if flow.segments[0].ect {
            flow.segments[0].mark = true;
        } else {
            let segment = self.drop_segment(bucket);
            self.counters.dropped += 1;
            self.counters.dropped_bytes += u64::from(segment.bytes);
        }
    }

    pub(crate) fn peek(&mut self, now: Instant) -> Option<Head<u64>> {
        let (bucket, sparse) = self.next(now)?;
        let Segment { id, flow, number: segment, bytes, tag, .. } = self.flows[&bucket].segments[0];
        Some(Head { flow, id, segment, bytes, sparse, tag })
    }

    pub(crate) fn pop(&mut self, now: Instant) -> Option<Left<u64>> {
        let (bucket, sparse) = self.next(now)?;
        let flow = self.flows.get_mut(&bucket).unwrap();
        let it = flow.segments.pop_front().unwrap();
        flow.credits -= i64::from(it.bytes);
        self.counters.left += 1;
        self.counters.left_bytes += u64::from(it.bytes);
        self.counters.marked += u64::from(it.mark);
        if self.len().1 == 0 {
            // An empty queue has no flows.
            assert_eq!(self.next(now), None);
        }
        let Segment { id, number: segment, bytes, mark, last, tag, arrival, .. } = it;
        Some(Left { id, segment, bytes, mark, last, sparse, tag, waited: now - arrival })
    }

    pub(crate) fn pop_dropped(&mut self) -> Option<Dropped<u64>> {
        self.reports.pop_front()
    }

    pub(crate) fn clear(&mut self) {
        self.counters.cleared += self.len().1 as u64;
        self.flows.clear();
        self.new.clear();
        self.old.clear();
        self.paused_until.clear();
        self.reports.clear();
    }
}

/// Returns true if one acknowledgement says all that another one does: it has each number that the other has.
fn includes(one: Acknowledgement, other: Acknowledgement) -> bool {
    let up_to = |number: u32, bound: u32| bound.wrapping_sub(number) < 1 << 31;
    let has = |number: u32| {
        up_to(number.wrapping_add(1), one.number)
            || one.block.is_some_and(|Block { from, to }| {
                up_to(from, number) && up_to(number.wrapping_add(1), to)
            })
    };
    let len = |block: Block| block.to.wrapping_sub(block.from);
    let numbers = |block: Block| (0..len(block)).map(move |n| block.from.wrapping_add(n));
    up_to(other.number, one.number) && other.block.into_iter().flat_map(numbers).all(has)
}
