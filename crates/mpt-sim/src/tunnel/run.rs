//! Runs a case.

use std::time::Duration;

use mpt_core::Connection;
use mpt_core::reorder::Counters;
use serde::{Deserialize, Serialize};

use crate::kernel::{Event, Events};
use crate::network::{Carried, Network, Route};
use crate::reordering::Reordering;
use crate::simulation::{Packet as _, Receiver as _, Sender as _};
use crate::study::State;
use crate::tcp::{Receiver, Sender, WireSizes};
use crate::time::Time;

use super::case::{Case, HEADERS};
use super::host::{Content, Host, Packet};
use super::waits::Waits;

/// What one run gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// [`State::TimeOver`], as it should be; [`State::NoProgress`] where nothing was delivered after the transient.
    pub state: State,
    /// What the paths could carry of TCP payload, in Mbit/s.
    pub capacity: f64,
    /// TCP payload delivered, in Mbit/s: over the whole run.
    pub goodput: f64,
    /// The same from [`Case::settled_from`] on.
    pub settled: f64,
    /// Time that packets with data were held or waited in the receive window, in milliseconds: median.
    pub wait_p50_ms: f64,
    /// The same: 99 % waited no longer.
    pub wait_p99_ms: f64,
    /// The same: the longest.
    pub wait_most_ms: f64,
    /// Packets with data that came out of the paths.
    pub packets: u64,
    /// Those of them that came after their numbers had been given up.
    pub late: u64,
    /// Those of them that were dropped.
    pub late_dropped: u64,
    /// Numbers given up because the evidence said that they are lost.
    pub lost: u64,
    /// Numbers given up because a packet had waited the maximum delay.
    pub expired: u64,
    /// Numbers given up because the window was full.
    pub skipped: u64,
    /// How full the receive window was.
    pub occupancy: Occupancy,
    /// Segments that TCP sent again.
    pub retransmissions: u64,
    /// Those of them that had not been lost.
    pub needless: u64,
    /// Times that TCP took something for a loss, by acknowledgements.
    pub recoveries: u64,
    /// Times that it took its response back.
    pub undone: u64,
    /// Times that TCP's timer ran out.
    pub timeouts: u64,
    /// Packets dropped by queues, there and back.
    pub queue_drops: u64,
    /// Events of the run.
    pub events: u64,
    /// Hash of its trace: equal for equal runs.
    pub trace: u64,
}

/// How many packets waited when a packet with data had come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// The median.
    pub p50: usize,
    /// 99 % of the packets found, or made it, no more.
    pub p99: usize,
    /// The most.
    pub most: usize,
    /// Share of arrivals after which 0, 1, ... packets waited: RBD (RFC 5236, section 5). Not in files: it is long.
    #[serde(skip)]
    pub density: Vec<f64>,
}

/// The end that has data to send.
const SENDER: usize = 0;
const RECEIVER: usize = 1;

#[derive(Clone, Copy, Debug)]
enum Happening {
    Start,
    /// Of the sending TCP.
    Timer,
    /// Of an endpoint.
    Timeout {
        side: u8,
    },
    Arrival {
        side: u8,
        path: u8,
        number: u32,
        size: u32,
        copy: bool,
        content: Content,
    },
}

impl Event for Happening {
    fn digest(&self) -> u64 {
        match self {
            Self::Start => 0,
            Self::Timer => 1,
            Self::Timeout { side } => 2 | u64::from(*side) << 8,
            Self::Arrival { side, path, number, content, .. } => {
                let content = match content {
                    Content::Data(segment) => segment.digest(),
                    Content::Ack(ack) => ack.digest(),
                };
                content.rotate_left(32)
                    ^ (u64::from(*number) << 16 | u64::from(*path) << 8 | u64::from(*side))
            }
        }
    }
}

struct Run {
    events: Events<Happening>,
    network: Network,
    routes: Vec<Route>,
    carried: Carried,
    hosts: [Host; 2],
    sender: Sender,
    receiver: Receiver,
    /// When the timers that are waited for go off: TCP's, and those of the endpoints.
    timer: Time,
    timeouts: [Time; 2],
    waits: Waits,
    occupancy: Reordering,
    /// Datagrams with data that have come to the receiving end, and packets that have left it.
    arrived: u64,
    delivered: u64,
}

/// In Mbit/s.
struct Rates {
    capacity: f64,
    goodput: f64,
    settled: f64,
}

impl Case {
    /// Runs it.
    ///
    /// # Panics
    ///
    /// If the paths make no tunnel (none, too many, a weight of 0), or the model is wrong: an invariant does not hold.
    pub fn run(&self) -> Outcome {
        self.run_with(|_, _| {})
    }

    /// Runs it, and shows how many bytes have been delivered to `observe` after every event.
    ///
    /// # Panics
    ///
    /// As [`Case::run`].
    pub fn run_with(&self, mut observe: impl FnMut(Time, u64)) -> Outcome {
        let mut network = Network::new();
        let routes: Vec<Route> = (0..)
            .zip(&self.paths)
            .map(|(stream, path)| Route {
                forward: network.add(path.params(), self.seed, 2 * stream),
                backward: network.add(path.params(), self.seed, 2 * stream + 1),
                detour: Duration::ZERO,
            })
            .collect();
        let start = network.instant(Time::ZERO);
        let hosts = [SENDER, RECEIVER].map(|side| Host::new(side, start, self));
        let inner = u64::from(hosts[SENDER].mtu());
        let mss = inner - WireSizes::ipv4(0, 0, 0).segment.0;
        let sizes = WireSizes::ipv4(mss, 0, 0);
        let mut run = Run {
            events: Events::new(),
            carried: Carried::new(&network, true),
            network,
            routes,
            hosts,
            sender: Sender::new(self.tcp, sizes, None),
            receiver: Receiver::new(sizes),
            timer: Time::MAX,
            timeouts: [Time::MAX; 2],
            waits: Waits::default(),
            occupancy: Reordering::default(),
            arrived: 0,
            delivered: 0,
        };
        let settled_from = Time::ZERO + self.settled_from.min(self.duration);
        let end = Time::ZERO + self.duration;
        let mut before = None;
        run.events.schedule(Time::ZERO, Happening::Start);
        while run.events.next_time().is_some_and(|next| next <= end) {
            if run.events.next_time() >= Some(settled_from) {
                before.get_or_insert(run.receiver.delivered());
            }
            run.step();
            observe(run.events.now(), run.receiver.delivered() * mss);
        }
        let segments = run.receiver.delivered();
        let settled = segments - before.unwrap_or(segments);
        let rate = |segments: u64, time: Duration| {
            (segments * mss * 8) as f64 / time.as_secs_f64().max(1e-9) / 1e6
        };
        run.outcome(Rates {
            capacity: self.capacity(mss, inner),
            goodput: rate(segments, self.duration),
            settled: rate(settled, end - settled_from),
        })
    }
}

impl Run {
    fn step(&mut self) {
        let Some(event) = self.events.pop() else { return };
        let now = self.events.now();
        let instant = self.network.instant(now);
        match event {
            Happening::Start => {}
            Happening::Timer => {
                if self.timer == now {
                    self.timer = Time::MAX;
                }
                if self.sender.next_timeout().is_some_and(|due| due <= now) {
                    self.sender.handle_timeout(now);
                }
            }
            Happening::Timeout { side } => {
                let side = usize::from(side);
                if self.timeouts[side] == now {
                    self.timeouts[side] = Time::MAX;
                }
                if self.hosts[side].next_timeout().is_some_and(|due| due <= instant) {
                    self.hosts[side].handle_timeout(instant);
                }
            }
            Happening::Arrival { side, path, number, size, copy, content } => {
                let (side, path) = (usize::from(side), usize::from(path));
                let Route { forward, backward, .. } = self.routes[path];
                let link = if side == RECEIVER { forward } else { backward };
                // A copy that the link has made takes nothing of its rate.
                let wire = if copy { 0 } else { size + HEADERS.0 as u32 };
                self.carried.add(now, &self.network, link, wire);
                let packet = Packet { arrived: now, content };
                self.hosts[side].receive(instant, path, number, size.into(), packet);
                if side == RECEIVER {
                    self.arrived += 1;
                    self.occupancy.arrival(self.hosts[RECEIVER].waiting());
                }
            }
        }
        self.deliver(now);
        self.transmit(now);
        self.set_timers(now);
    }

    /// What has come out of the tunnel goes to the hosts behind.
    fn deliver(&mut self, now: Time) {
        for side in [SENDER, RECEIVER] {
            let out = self.hosts[side].take_out();
            for Packet { arrived, content } in &out {
                match content {
                    Content::Data(segment) => {
                        self.delivered += 1;
                        self.waits.add(now - *arrived);
                        self.receiver.handle_data(now, 0, segment);
                    }
                    Content::Ack(ack) => {
                        self.sender.handle_ack(now, 0, ack);
                        // After each: a window that several have opened at once would look unused.
                        self.transmit(now);
                    }
                }
            }
            self.receiver.merge_acks();
            self.transmit(now);
            self.hosts[side].give_back(out);
        }
    }

    /// What the hosts have to send goes into the tunnel.
    fn transmit(&mut self, now: Time) {
        while let Some(outgoing) = self.receiver.poll_transmit() {
            self.send(now, RECEIVER, outgoing.size.0, Content::Ack(outgoing.packet));
        }
        while let Some(outgoing) = self.sender.poll_transmit(now) {
            self.send(now, SENDER, outgoing.size.0, Content::Data(outgoing.packet));
        }
    }

    fn send(&mut self, now: Time, from: usize, size: u64, content: Content) {
        let Self { events, network, routes, hosts, .. } = self;
        for &(path, number) in hosts[from].send(size) {
            let Route { forward, backward, .. } = routes[path];
            let link = if from == SENDER { forward } else { backward };
            let wire = mpt_link::ByteCount(size + HEADERS.0);
            let (at, twice) = network.send(now, link, wire);
            for (at, copy) in [(at, false), (twice, true)] {
                let Some(at) = at else { continue };
                let (side, path, size) = (1 - from as u8, path as u8, size as u32);
                events.schedule(at, Happening::Arrival { side, path, number, size, copy, content });
            }
        }
    }

    fn set_timers(&mut self, now: Time) {
        if let Some(due) = self.sender.next_timeout()
            && due < self.timer
        {
            self.timer = due.max(now);
            self.events.schedule(self.timer, Happening::Timer);
        }
        for side in [SENDER, RECEIVER] {
            let due = self.hosts[side].next_timeout().map(|due| self.network.time(due));
            if let Some(due) = due
                && due < self.timeouts[side]
            {
                self.timeouts[side] = due.max(now);
                let side = side as u8;
                self.events.schedule(due.max(now), Happening::Timeout { side });
            }
        }
    }

    /// What was counted.
    fn outcome(&self, Rates { capacity, goodput, settled }: Rates) -> Outcome {
        let reorder = self.hosts[RECEIVER].connection().and_then(Connection::reorder);
        let counters = reorder.map_or_else(Counters::default, |it| *it.counters());
        let waiting = self.hosts[RECEIVER].waiting() as u64;
        // Every packet that has come is delivered, or waits, or is counted as dropped.
        let ended = self.delivered + waiting + counters.duplicate + counters.dropped;
        assert_eq!(ended, self.arrived, "packets are gone, or come from nowhere");
        let milliseconds = |quantile| self.waits.quantile(quantile).as_secs_f64() * 1e3;
        let tcp = self.sender.subflow().counters();
        let links = self.routes.iter().flat_map(|it| [it.forward, it.backward]);
        Outcome {
            state: if settled > 0.0 { State::TimeOver } else { State::NoProgress },
            capacity,
            goodput,
            settled,
            wait_p50_ms: milliseconds(0.5),
            wait_p99_ms: milliseconds(0.99),
            wait_most_ms: milliseconds(1.0),
            packets: self.arrived,
            late: counters.late,
            late_dropped: counters.dropped,
            lost: counters.lost,
            expired: counters.expired,
            skipped: counters.skipped,
            occupancy: Occupancy::of(&self.occupancy),
            retransmissions: tcp.retransmitted,
            needless: tcp.not_needed,
            recoveries: tcp.recoveries,
            undone: tcp.undone,
            timeouts: tcp.timeouts,
            queue_drops: links.map(|it| self.network.counters(it).queue_full.packets).sum(),
            events: self.events.handled(),
            trace: self.events.trace(),
        }
    }
}

impl Occupancy {
    fn of(counted: &Reordering) -> Self {
        let all: u64 = counted.density.iter().sum();
        let quantile = |share: f64| {
            let rank = libm::ceil(all as f64 * share) as u64;
            let mut below = 0;
            let reached = counted.density.iter().position(|count| {
                below += count;
                below >= rank
            });
            reached.unwrap_or(0)
        };
        let density = if all == 0 { Vec::new() } else { counted.shares() };
        Self { p50: quantile(0.5), p99: quantile(0.99), most: counted.most, density }
    }
}
