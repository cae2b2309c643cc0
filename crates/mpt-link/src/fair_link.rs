//! A link whose queue serves flows in turns.

use std::time::{Duration, Instant};

use crate::queue::fq_codel::{Dequeued, FqCodel, FqCodelConfig};
use crate::{
    ByteCount, Capable, Change, Channel, Counters, Link, Outcome, Params, QueueLimit, Tally,
};

/// One direction of one link, carrying packets of type `P`, with an [`FqCodel`] in front of its transmitter. The future
/// of a packet is decided when its transmission begins.
#[derive(Clone, Debug)]
pub struct FairLink<P> {
    queue: FqCodel<P>,
    wire: Link<Arrival<P>>,
    /// The time at which the latest packet came.
    latest: Instant,
    lost: Vec<P>,
    offered: Tally,
    marked: Tally,
}

/// A packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<P> {
    /// The packet.
    pub packet: P,
    /// True if it is marked "congestion experienced".
    pub marked: bool,
}

impl<P: Clone> FairLink<P> {
    /// A link that has `params` at `start`, and changes by `schedule` (in any order) that long after it. Their queue limits
    /// and marks are not used: the queue is that of `config`.
    pub fn new(
        start: Instant,
        params: Params,
        config: FqCodelConfig,
        schedule: impl IntoIterator<Item = (Duration, Change)>,
        seed: u64,
    ) -> Self {
        let params = Params { queue: QueueLimit::Unlimited, mark_above: None, ..params };
        let wire = Link::new(start, params, schedule, seed);
        let queue = FqCodel::new(start, config);
        let (offered, marked) = (Tally::default(), Tally::default());
        Self { queue, wire, latest: start, lost: Vec::new(), offered, marked }
    }

    /// Sends a packet of a flow, see [`FqCodel::enqueue`].
    pub fn enqueue(
        &mut self,
        now: Instant,
        flow: u64,
        size: ByteCount,
        capable: Capable,
        packet: P,
    ) {
        self.serve(now);
        self.latest = self.latest.max(now);
        self.offered.add(size);
        self.queue.enqueue(now, flow, size, capable, packet);
        self.serve(now);
    }

    /// The next packet that has arrived at `now` or before.
    pub fn poll(&mut self, now: Instant) -> Option<Arrival<P>> {
        self.poll_stamped(now).map(|(_, arrival)| arrival)
    }

    /// Returns the next packet that has arrived, with its time of arrival.
    pub fn poll_stamped(&mut self, now: Instant) -> Option<(Instant, Arrival<P>)> {
        self.serve(now);
        let at = self.wire.next_timeout()?;
        self.wire.poll(now).map(|arrival| (at, arrival))
    }

    /// Returns the time at which [`Self::poll`] is to be called next: a packet arrives, or the next transmission begins.
    pub fn next_timeout(&self) -> Option<Instant> {
        let begins = (self.queue.waiting().packets > 0).then(|| self.begins());
        begins.into_iter().chain(self.wire.next_timeout()).min()
    }

    /// Adds a change to the schedule, see [`Channel::change`].
    pub fn change(&mut self, at: Instant, change: Change) {
        if !matches!(change, Change::Queue(_)) {
            self.wire.change(at, change);
        }
    }

    /// The packets that the queue has dropped, or that were lost, since the last call.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = P> + '_ {
        let Self { queue, lost, .. } = self;
        queue.take_dropped().chain(lost.drain(..))
    }

    /// Packets that wait for the transmitter, and their bytes.
    pub fn waiting(&self) -> Tally {
        self.queue.waiting()
    }

    /// Returns what the wire is like.
    pub fn channel(&self) -> &Channel {
        self.wire.channel()
    }

    /// Returns what has become of all packets. Those that the queue has dropped are counted as it having been full.
    pub fn counters(&self) -> Counters {
        let Self { offered, marked, .. } = *self;
        Counters { offered, queue_full: self.queue.dropped(), marked, ..*self.wire.counters() }
    }

    /// Returns the time at which the next transmission can begin.
    fn begins(&self) -> Instant {
        self.wire.channel().free_at().max(self.latest)
    }

    /// Begins the transmissions that begin by `now`.
    fn serve(&mut self, now: Instant) {
        while self.queue.waiting().packets > 0 && self.begins() <= now {
            let begins = self.begins();
            let Some(Dequeued { packet, size, marked }) = self.queue.dequeue(begins) else {
                return;
            };
            if marked {
                self.marked.add(size);
            }
            let arrival = Arrival { packet: packet.clone(), marked };
            if self.wire.enqueue(begins, size, arrival) == Outcome::Lost {
                self.lost.push(packet);
            }
        }
    }
}
