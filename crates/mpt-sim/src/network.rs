//! Links, and the routes that packets take over them.

use std::time::{Duration, Instant};

use mpt_link::{Bitrate, ByteCount, Capable, Change, Channel, Counters, Outcome, Params};

use crate::kernel::random::derive;
use crate::kernel::time::Time;

/// One direction of a link, by its number in a [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkId(usize);

impl LinkId {
    /// Returns its place among the links of the network, from 0.
    pub fn index(self) -> usize {
        self.0
    }
}

/// The route of the packets of one path: over one link there, and over one link back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The link from the sender to the receiver of data.
    pub forward: LinkId,
    /// The link from the receiver to the sender of data.
    pub backward: LinkId,
    /// A constant delay besides that of the link, in either direction: the part that paths that share a link do not share.
    pub detour: Duration,
}

impl Route {
    /// Returns the route over two links by their numbers, without a detour.
    pub const fn over(forward: usize, backward: usize) -> Self {
        let (forward, backward) = (LinkId(forward), LinkId(backward));
        Self { forward, backward, detour: Duration::ZERO }
    }
}

/// The links of a simulation.
#[derive(Clone, Debug)]
pub struct Network {
    /// The instant that stands for [`Time::ZERO`] in the model of links.
    epoch: Instant,
    channels: Vec<Channel>,
    highest_rates: Vec<Option<Bitrate>>,
}

impl Network {
    /// Returns a network without links.
    pub fn new() -> Self {
        // Any moment would do: only differences count.
        #[expect(clippy::disallowed_methods)]
        let epoch = Instant::now();
        Self { epoch, channels: Vec::new(), highest_rates: Vec::new() }
    }

    /// Adds one direction of a link. `stream` is the number of its random stream: two directions of the same stream see the same wandering delay.
    pub fn add(&mut self, params: Params, seed: u64, stream: u64) -> LinkId {
        self.highest_rates.push(params.rate);
        self.channels.push(Channel::new(self.epoch, params, [], derive(seed, stream)));
        LinkId(self.channels.len() - 1)
    }

    /// Adds a link whose directions are alike, and share its wandering delay.
    pub fn add_duplex(&mut self, params: Params, seed: u64, stream: u64) -> Route {
        let forward = self.add(params, seed, stream);
        let backward = self.add(params, seed, stream);
        Route { forward, backward, detour: Duration::ZERO }
    }

    /// Sends a packet. Returns the time at which it arrives, and the time at which a copy of it does; `None` if it does not.
    pub fn send(
        &mut self,
        now: Time,
        link: LinkId,
        size: ByteCount,
    ) -> (Option<Time>, Option<Time>) {
        let (at, copy, _) = self.send_capable(now, link, size, Capable::No);
        (at, copy)
    }

    /// Sends a packet that may be capable of marks. Returns whether it is marked, too.
    pub fn send_capable(
        &mut self,
        now: Time,
        link: LinkId,
        size: ByteCount,
        capable: Capable,
    ) -> (Option<Time>, Option<Time>, bool) {
        let instant = self.instant(now);
        match self.channels[link.0].send_capable(instant, size, capable) {
            Outcome::Arrives { at, copy, marked } => {
                (Some(self.time(at)), copy.map(|at| self.time(at)), marked)
            }
            Outcome::Lost | Outcome::QueueFull => (None, None, false),
        }
    }

    /// Returns what has become of all packets of a link.
    pub fn counters(&self, link: LinkId) -> &Counters {
        self.channels[link.0].counters()
    }

    /// Returns the number of packets that wait for the transmitter of a link.
    pub fn waiting(&mut self, now: Time, link: LinkId) -> u64 {
        let instant = self.instant(now);
        self.channels[link.0].waiting(instant).packets
    }

    /// Returns how long what waits for the transmitter of a link takes at its present rate.
    pub fn backlog(&mut self, now: Time, link: LinkId) -> Duration {
        let instant = self.instant(now);
        let channel = &mut self.channels[link.0];
        let bytes = channel.waiting(instant).bytes;
        transmission(bytes, channel.params().rate)
    }

    /// Changes a link from `at` on.
    pub fn change(&mut self, at: Time, link: LinkId, change: Change) {
        if let (Change::Rate(rate), highest) = (change, &mut self.highest_rates[link.0]) {
            *highest = highest.zip(rate).map(|(highest, rate)| highest.max(rate));
        }
        let instant = self.instant(at);
        self.channels[link.0].change(instant, change);
    }

    /// Returns the moment as an [`Instant`], by which the links count.
    pub fn instant(&self, time: Time) -> Instant {
        self.epoch + time.as_duration()
    }

    /// Returns the time of this [`Network::instant`].
    pub fn time(&self, at: Instant) -> Time {
        Time::ZERO + at.saturating_duration_since(self.epoch)
    }

    /// Returns the number of directions.
    pub fn links(&self) -> usize {
        self.channels.len()
    }

    /// Returns the highest rate that a link has, or has been given by a change; `None` for no limit.
    pub fn highest_rate(&self, link: LinkId) -> Option<Bitrate> {
        self.highest_rates[link.0]
    }
}

/// Returns the time that this many bytes take to be transmitted.
pub(crate) fn transmission(bytes: u64, rate: Option<Bitrate>) -> Duration {
    rate.map_or(Duration::ZERO, |rate| {
        Duration::from_secs_f64(bytes as f64 * 8.0 / rate.bits_per_second() as f64)
    })
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

/// The bytes that each link has delivered, and the check that none carries more than its rate allows.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    bytes: Vec<u64>,
    checked: bool,
}

impl Carried {
    /// Returns counters of zero. With `checked`, the rates are checked packet by packet.
    pub(crate) fn new(network: &Network, checked: bool) -> Self {
        Self { bytes: vec![0; network.links()], checked }
    }

    /// Returns the bytes that have come out of a link.
    pub(crate) fn bytes(&self, link: LinkId) -> u64 {
        self.bytes[link.index()]
    }

    /// Counts a packet of `size` bytes that leaves a link.
    ///
    /// # Panics
    ///
    /// Panics if the link cannot have carried so much by now: then the model is wrong.
    pub(crate) fn add(&mut self, now: Time, network: &Network, link: LinkId, size: u32) {
        let carried = &mut self.bytes[link.index()];
        *carried += u64::from(size);
        if self.checked
            && let Some(rate) = network.highest_rate(link)
        {
            let possible = u128::from(rate.bits_per_second()) * u128::from(now.as_nanos());
            let needed = u128::from(*carried) * 8 * 1_000_000_000;
            // Rounding of the arrival to whole nanoseconds is worth less than `rate` of these units.
            assert!(
                needed <= possible + u128::from(rate.bits_per_second()),
                "{link:?} has carried {carried} bytes by {now:?}"
            );
        }
    }
}
