//! A queue that serves flows in turns and keeps each of them short: FQ-CoDel (RFC 8290).

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::channel::Capable;
use crate::queue::codel::{Codel, Times, Verdict};
use crate::time::nanoseconds;
use crate::{ByteCount, Tally};

/// The parameters of a [`FqCodel`]. The defaults are those of RFC 8290, section 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodelConfig {
    /// Into how many queues flows are hashed.
    pub flows: u32,
    /// Bytes that a flow may send in its turn.
    pub quantum: ByteCount,
    /// The wait that a flow may have for good.
    pub target: Duration,
    /// The time within which a flow has to be below that once.
    pub interval: Duration,
    /// Packets in all queues.
    pub limit: usize,
    /// True if packets that can be marked are marked instead of dropped.
    pub ecn: bool,
}

impl Default for FqCodelConfig {
    fn default() -> Self {
        Self {
            flows: 1024,
            quantum: ByteCount(1514),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            limit: 10_240,
            ecn: true,
        }
    }
}

/// Packets of type `P` in the queues of their flows.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    config: FqCodelConfig,
    start: Instant,
    queues: Vec<Queue<P>>,
    /// Queues that have come into use, and those that have had a turn since (section 4.2).
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    waiting: Tally,
    /// Packets that were dropped and not taken yet.
    dropped: Vec<P>,
    /// All that were dropped.
    drops: Tally,
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dequeued<P> {
    /// The packet.
    pub packet: P,
    /// Its size on the wire.
    pub size: ByteCount,
    /// True if it is marked "congestion experienced".
    pub marked: bool,
}

#[derive(Clone, Debug)]
struct Queue<P> {
    packets: VecDeque<Entry<P>>,
    bytes: u64,
    deficit: i64,
    codel: Codel,
    listed: bool,
}

#[derive(Clone, Debug)]
struct Entry<P> {
    packet: P,
    size: u64,
    capable: Capable,
    /// Time of arrival, in nanoseconds since the start.
    came: u64,
}

impl<P> FqCodel<P> {
    /// Empty queues. Times are counted from `start`.
    pub fn new(start: Instant, config: FqCodelConfig) -> Self {
        let queue = || Queue {
            packets: VecDeque::new(),
            bytes: 0,
            deficit: 0,
            codel: Codel::default(),
            listed: false,
        };
        let queues = std::iter::repeat_with(queue).take(config.flows.max(1) as usize).collect();
        let (new, old) = (VecDeque::new(), VecDeque::new());
        let (waiting, drops) = (Tally::default(), Tally::default());
        Self { config, start, queues, new, old, waiting, dropped: Vec::new(), drops }
    }

    /// Packets that wait, and their bytes.
    pub fn waiting(&self) -> Tally {
        self.waiting
    }

    /// Packets that were dropped, and their bytes.
    pub fn dropped(&self) -> Tally {
        self.drops
    }

    /// A packet of a flow comes. Flows are told apart by `flow`, which should be spread well: a hash.
    pub fn enqueue(
        &mut self,
        now: Instant,
        flow: u64,
        size: ByteCount,
        capable: Capable,
        packet: P,
    ) {
        let came = self.time(now);
        let index = (flow % self.queues.len() as u64) as usize;
        let quantum = self.quantum();
        let queue = &mut self.queues[index];
        queue.packets.push_back(Entry { packet, size: size.0, capable, came });
        queue.bytes = queue.bytes.saturating_add(size.0);
        self.waiting.add(size);
        if !queue.listed {
            (queue.listed, queue.deficit) = (true, quantum);
            self.new.push_back(index);
        }
        while self.waiting.packets > self.config.limit as u64 {
            self.drop_of_fattest();
        }
    }

    /// The next packet to be transmitted.
    pub fn dequeue(&mut self, now: Instant) -> Option<Dequeued<P>> {
        let now = self.time(now);
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let &index = list.front()?;
            if self.queues[index].deficit <= 0 {
                self.queues[index].deficit += self.quantum();
                self.turn_is_over(is_new);
                continue;
            }
            if let Some(dequeued) = self.take(now, index) {
                let size = i64::try_from(dequeued.size.0).unwrap_or(i64::MAX);
                let deficit = &mut self.queues[index].deficit;
                *deficit = deficit.saturating_sub(size);
                return Some(dequeued);
            }
            // An empty queue that was new gets another turn as an old one: otherwise a flow could be new at each packet.
            if is_new && !self.old.is_empty() {
                self.turn_is_over(true);
            } else {
                let list = if is_new { &mut self.new } else { &mut self.old };
                list.pop_front();
                self.queues[index].listed = false;
            }
        }
    }

    /// The packets that were dropped since the last call.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = P> + '_ {
        self.dropped.drain(..)
    }

    /// The queue at the front of a list goes to the end of that of the old ones.
    fn turn_is_over(&mut self, is_new: bool) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        if let Some(index) = list.pop_front() {
            self.old.push_back(index);
        }
    }

    /// The first packet of a queue that is not dropped.
    fn take(&mut self, now: u64, index: usize) -> Option<Dequeued<P>> {
        let FqCodelConfig { target, interval, ecn, quantum, .. } = self.config;
        let times = Times { target: nanoseconds(target), interval: nanoseconds(interval) };
        let queue = &mut self.queues[index];
        while let Some(entry) = queue.packets.pop_front() {
            queue.bytes = queue.bytes.saturating_sub(entry.size);
            self.waiting.packets -= 1;
            self.waiting.bytes = self.waiting.bytes.saturating_sub(entry.size);
            let waited = now.saturating_sub(entry.came);
            // A drop gains nothing when the rest of the queue is less than a packet (RFC 8289, section 5.3: MTU).
            let verdict = queue.codel.verdict(now, waited, queue.bytes < quantum.0, times);
            let congested = verdict == Verdict::Congested;
            if congested && !(ecn && entry.capable == Capable::Yes) {
                self.drops.add(ByteCount(entry.size));
                self.dropped.push(entry.packet);
                continue;
            }
            let size = ByteCount(entry.size);
            return Some(Dequeued { packet: entry.packet, size, marked: congested });
        }
        queue.codel.emptied();
        None
    }

    /// Section 4.1: the first packet of the queue with the most bytes.
    fn drop_of_fattest(&mut self) {
        let fattest = self.queues.iter_mut().max_by_key(|queue| queue.bytes);
        let Some(queue) = fattest else { return };
        if let Some(entry) = queue.packets.pop_front() {
            queue.bytes = queue.bytes.saturating_sub(entry.size);
            self.waiting.packets -= 1;
            self.waiting.bytes = self.waiting.bytes.saturating_sub(entry.size);
            self.drops.add(ByteCount(entry.size));
            self.dropped.push(entry.packet);
        }
    }

    fn quantum(&self) -> i64 {
        i64::try_from(self.config.quantum.0.max(1)).unwrap_or(i64::MAX)
    }

    fn time(&self, now: Instant) -> u64 {
        nanoseconds(now.saturating_duration_since(self.start))
    }
}
