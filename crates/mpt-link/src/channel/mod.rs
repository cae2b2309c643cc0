//! The model of a link, without the packets.

pub(super) mod jitter;
pub(super) mod loss;
mod transmitter;

use std::time::{Duration, Instant};

use crate::channel::jitter::JitterProcess;
use crate::channel::loss::LossProcess;
use crate::channel::transmitter::Transmitter;
use crate::medium::Access;
use crate::queue::Queue;
use crate::random::Random;
use crate::schedule::Schedule;
use crate::time::nanoseconds;
use crate::{ByteCount, Change, Medium, Params};

/// The outcome for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Outcome {
    /// It arrives.
    Arrives {
        /// Time of arrival.
        at: Instant,
        /// The time at which it arrives once more, if it does; never before `at` where order is kept.
        copy: Option<Instant>,
        /// True if it is marked "congestion experienced".
        marked: bool,
    },
    /// It is lost on the wire.
    Lost,
    /// It found the queue full, or too long for a packet that cannot be marked.
    QueueFull,
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tally {
    /// Number of packets.
    pub packets: u64,
    /// Sum of their sizes.
    pub bytes: u64,
}

/// The outcomes of all packets. Every packet offered is refused, lost or arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Counters {
    /// Offered to the link.
    pub offered: Tally,
    /// Dropped before the queue.
    pub queue_full: Tally,
    /// Transmitted, and lost on the wire.
    pub lost: Tally,
    /// Copies that arrive besides.
    pub duplicated: Tally,
    /// Marked "congestion experienced", lost ones included.
    #[cfg_attr(feature = "serde", serde(default))]
    pub marked: Tally,
}

/// The ability of a packet to be marked "congestion experienced" (RFC 3168: ECN-capable transport).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Capable {
    /// It cannot: congestion drops it.
    #[default]
    No,
    /// It can.
    Yes,
}

/// The model of one direction of one link, without the packets: tells at once what becomes of each.
///
/// The whole future of a packet is decided when it comes, which is exact as long as the schedule is known. A change
/// added later ([`Channel::change`]) leaves alone what has already been decided.
#[derive(Clone, Debug)]
pub struct Channel {
    start: Instant,
    /// Latest time seen, in nanoseconds since the start, as all times inside.
    now: u64,
    /// `queue` as of `now`, the rest as of the transmitter.
    params: Params,
    queue_schedule: Schedule,
    wire_schedule: Schedule,
    queue: Queue,
    transmitter: Transmitter,
    /// Access to a medium that several stations share; `None` for a link of its own.
    access: Option<Access>,
    random: Random,
    loss: LossProcess,
    jitter: JitterProcess,
    last_arrival: u64,
    counters: Counters,
}

impl Channel {
    /// A link that has `params` at `start`, and changes by `schedule` (in any order) that long after it.
    pub fn new(
        start: Instant,
        params: Params,
        schedule: impl IntoIterator<Item = (Duration, Change)>,
        seed: u64,
    ) -> Self {
        let mut channel = Self {
            start,
            now: 0,
            params,
            queue_schedule: Schedule::default(),
            wire_schedule: Schedule::default(),
            queue: Queue::default(),
            transmitter: Transmitter::default(),
            access: None,
            random: Random::new(seed),
            loss: LossProcess::default(),
            jitter: JitterProcess::new(seed),
            last_arrival: 0,
            counters: Counters::default(),
        };
        for (after, change) in schedule {
            channel.insert(nanoseconds(after), change);
        }
        channel
    }

    /// Makes of it a half-duplex medium that several stations share, each of which has to get access to it; see
    /// [`Channel::send_from`].
    #[must_use]
    pub fn shared(mut self, medium: Medium) -> Self {
        self.access = Some(Access::new(medium));
        self
    }

    /// Adds a change to the schedule. It holds for the transmissions that begin at `at` or later, at the earliest for
    /// the packets that come from now on.
    pub fn change(&mut self, at: Instant, change: Change) {
        self.insert(nanoseconds(at.saturating_duration_since(self.start)), change);
    }

    /// Decides what becomes of a packet that comes at `now`. A time before that of an earlier call counts as that one.
    pub fn send(&mut self, now: Instant, size: ByteCount) -> Outcome {
        self.send_capable_from(now, size, 0, Capable::No)
    }

    /// Sends a packet that may be one that can be marked ([`Params::mark_above`]), like [`Self::send`].
    pub fn send_capable(&mut self, now: Instant, size: ByteCount, capable: Capable) -> Outcome {
        self.send_capable_from(now, size, 0, capable)
    }

    /// Sends a packet of one of the stations that share the channel, like [`Self::send`]. They matter to a shared medium only
    /// ([`Channel::shared`]); queue and transmitter are one for all of them, first come, first served.
    pub fn send_from(&mut self, now: Instant, size: ByteCount, station: u32) -> Outcome {
        self.send_capable_from(now, size, station, Capable::No)
    }

    /// Sends a packet of one of the stations, which may be one that can be marked.
    pub fn send_capable_from(
        &mut self,
        now: Instant,
        size: ByteCount,
        station: u32,
        capable: Capable,
    ) -> Outcome {
        let now = self.advance(now);
        // Before anything that depends on the state of the link, see `Draws`.
        let draws = self.random.draw();
        self.counters.offered.add(size);

        let mut start = self.transmitter.start(now);
        let congested =
            self.params.mark_above.is_some_and(|limit| start - now > nanoseconds(limit));
        let marked = congested && capable == Capable::Yes;
        if congested && !marked {
            self.counters.queue_full.add(size);
            return Outcome::QueueFull;
        }
        if !self.queue.admit(self.params.queue, now, start, size.0) {
            self.counters.queue_full.add(size);
            return Outcome::QueueFull;
        }
        if marked {
            self.counters.marked.add(size);
        }
        let access = self.access.as_mut().map(|access| access.pay(start, station));
        if let Some(time) = access
            && time > 0
        {
            start = self.transmitter.occupy(now, time);
        }
        self.wire_schedule.apply(start, &mut self.params);
        let Params { slot, delay, jitter, keep_order, loss, duplication, .. } = self.params;
        let end = self.transmitter.transmit(now, size, &mut self.params, &mut self.wire_schedule);
        if let Some(access) = &mut self.access {
            access.transmitted(end);
        }

        if self.loss.next(&loss, draws.loss, draws.transition) {
            self.counters.lost.add(size);
            return Outcome::Lost;
        }
        let end = end_of_slot(end, nanoseconds(slot));
        let base = end.saturating_add(nanoseconds(delay));
        let mut arrival = |drawn| {
            let jitter = self.jitter.next(jitter, start, drawn);
            let mut arrival = base.saturating_add_signed(jitter).max(end);
            if keep_order {
                arrival = arrival.max(self.last_arrival);
            }
            self.last_arrival = self.last_arrival.max(arrival);
            self.start + Duration::from_nanos(arrival)
        };
        let at = arrival(draws.jitter);
        let copy = duplication.happens(draws.duplication).then(|| arrival(draws.copy_jitter));
        if copy.is_some() {
            self.counters.duplicated.add(size);
        }
        Outcome::Arrives { at, copy, marked }
    }

    /// Returns the time at which the transmitter has done all that was sent.
    pub fn free_at(&self) -> Instant {
        self.start + Duration::from_nanos(self.transmitter.start(0))
    }

    /// Packets that wait for the transmitter at `now`, and their bytes; the one in transmission is not among them.
    pub fn waiting(&mut self, now: Instant) -> Tally {
        let now = self.advance(now);
        let (packets, bytes) = self.queue.waiting(now);
        Tally { packets: packets as u64, bytes }
    }

    /// Returns what the link is like: its queue as of the last packet that came, the rest as of the last transmission.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns what has become of all packets.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn advance(&mut self, now: Instant) -> u64 {
        self.now = self.now.max(nanoseconds(now.saturating_duration_since(self.start)));
        self.queue_schedule.apply(self.now, &mut self.params);
        self.now
    }

    fn insert(&mut self, at: u64, change: Change) {
        match change {
            Change::Queue(_) => self.queue_schedule.insert(at, change),
            _ => self.wire_schedule.insert(at, change),
        }
    }
}

/// Returns the time at which what is transmitted at `time` leaves a link with slots of this length; at once where they have none.
fn end_of_slot(time: u64, slot: u64) -> u64 {
    if slot == 0 { time } else { time.div_ceil(slot).saturating_mul(slot) }
}

impl Tally {
    pub(crate) fn add(&mut self, size: ByteCount) {
        self.packets += 1;
        self.bytes = self.bytes.saturating_add(size.0);
    }
}
