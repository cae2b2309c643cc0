//! A link that carries packets.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use crate::{ByteCount, Change, Channel, Counters, Outcome, Params, Tally};

/// One direction of one link, carrying packets of type `P`: a [`Channel`] and the packets on their way, by the time of their arrival. Among packets
/// that arrive at the same time, the one sent first comes first.
///
/// Packets that wait for the transmitter are on their way as well: there is one timeout per packet.
#[derive(Clone, Debug)]
pub struct Link<P> {
    channel: Channel,
    in_flight: BinaryHeap<InFlight<P>>,
    sent: u64,
}

#[derive(Clone, Debug)]
struct InFlight<P> {
    arrival: Instant,
    order: u64,
    packet: P,
}

impl<P> Link<P> {
    /// A link that has `params` at `start`, and changes by `schedule` (in any order) that long after it. The same seed
    /// makes the same random decisions.
    pub fn new(
        start: Instant,
        params: Params,
        schedule: impl IntoIterator<Item = (Duration, Change)>,
        seed: u64,
    ) -> Self {
        let channel = Channel::new(start, params, schedule, seed);
        Self { channel, in_flight: BinaryHeap::new(), sent: 0 }
    }

    /// Sends a packet that takes `size` on the wire. One that does not arrive is dropped here.
    pub fn enqueue(&mut self, now: Instant, size: ByteCount, packet: P) -> Outcome
    where
        P: Clone,
    {
        let outcome = self.channel.send(now, size);
        if let Outcome::Arrives { at, copy, .. } = outcome {
            if let Some(copy) = copy {
                // Numbered after the packet itself.
                self.push(copy, 1, packet.clone());
            }
            self.push(at, 0, packet);
            self.sent += 2;
        }
        outcome
    }

    /// The next packet that has arrived at `now` or before.
    pub fn poll(&mut self, now: Instant) -> Option<P> {
        if self.next_timeout()? > now {
            return None;
        }
        self.in_flight.pop().map(|next| next.packet)
    }

    /// Returns the time at which the next packet arrives.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.in_flight.peek().map(|next| next.arrival)
    }

    /// Adds a change to the schedule, see [`Channel::change`].
    pub fn change(&mut self, at: Instant, change: Change) {
        self.channel.change(at, change);
    }

    /// The model of the link.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Packets not yet polled that wait, are in transmission or on the wire, copies included.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Packets that wait for the transmitter at `now`, see [`Channel::waiting`].
    pub fn waiting(&mut self, now: Instant) -> Tally {
        self.channel.waiting(now)
    }

    /// Returns what has become of all packets.
    pub fn counters(&self) -> &Counters {
        self.channel.counters()
    }

    fn push(&mut self, arrival: Instant, offset: u64, packet: P) {
        self.in_flight.push(InFlight { arrival, order: self.sent + offset, packet });
    }
}

// The heap gives the largest first: the earliest arrival has to be it.
impl<P> Ord for InFlight<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrival, other.order).cmp(&(self.arrival, self.order))
    }
}

impl<P> PartialOrd for InFlight<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for InFlight<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<P> Eq for InFlight<P> {}
