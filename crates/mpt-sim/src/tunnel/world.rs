//! The simulated world: tunnels, flows and links, driven by one queue of events.

use std::time::Duration;

use mpt_link::{ByteCount, Capable, Counters};
use mpt_wire::ecn::Ecn;

use crate::kernel::time::Time;
use crate::kernel::{Event, Events};
use crate::network::{Carried, LinkId, Network, Route};
use crate::reordering::Reordering;
use crate::simulation::Receiver as _;
use crate::simulation::Sender as _;

use super::datagrams::{Datagram, Datagrams};
use super::end::setup;
use super::end::{End, Packet};
use super::fair::Fair;
use super::outcome::waits::Waits;
use super::traffic::content::{Content, Inner};
use super::traffic::echo::Echoes;
use super::traffic::flow::{Flow, Way};
use super::traffic::stream::Stream;

/// The end that has data to send.
pub(super) const SENDER: usize = 0;
pub(super) const RECEIVER: usize = 1;

/// Headers around a datagram on a link that count for the path MTU: UDP and IPv4, in bytes.
const OUTER: u64 = 8 + 20;
/// Length of an Ethernet header without its checksum in bytes, as the laboratory's emulator counts it.
const ETHERNET: u64 = 14;

/// The number of the first tunnel among the flows that links distinguish.
const FIRST_TUNNEL: u64 = 1000;

/// Everything that is simulated.
pub(super) struct World {
    pub(super) events: Events<Happening>,
    pub(super) network: Network,
    pub(super) tunnels: Vec<Tunnel>,
    pub(super) flows: Vec<Flow>,
    pub(super) echoes: Vec<Echoes>,
    pub(super) streams: Vec<Stream>,
    /// The links whose queues serve flows in turns.
    fair: Vec<Fair<Happening>>,
    carried: Carried,
    datagrams: Datagrams,
}

/// A tunnel, and the counters of packets that come to the host behind end 1.
pub(super) struct Tunnel {
    pub(super) ends: [End; 2],
    pub(super) routes: Vec<Route>,
    /// The times of the next timer events of the ends that are scheduled.
    timeouts: [Time; 2],
    pub(super) waits: Waits,
    pub(super) occupancy: Reordering,
    /// Datagrams with packets that have come to the receiving end, and packets that have left it.
    pub(super) arrived: u64,
    pub(super) delivered: u64,
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    /// A flow begins.
    Start { flow: u8 },
    /// The timer of a flow's sender goes off.
    Timer { flow: u8 },
    /// The timer of an end goes off.
    Timeout { tunnel: u8, side: u8 },
    /// A packet that is to be sent back is sent.
    Echo { source: u8 },
    /// The hosts on both sides send a packet of a stream.
    Stream { stream: u8 },
    /// A datagram comes to an end.
    Arrival { tunnel: u8, side: u8, path: u8, datagram: u32, copy: bool, digest: u64 },
    /// On a link whose queue serves flows in turns, a packet arrives or the next transmission begins.
    Link { fair: u8 },
    /// A packet that went beside all tunnels comes to a host.
    Plain { link: LinkId, packet: u32, copy: bool, digest: u64 },
}

impl Event for Happening {
    fn digest(&self) -> u64 {
        match self {
            Self::Start { flow } => u64::from(*flow) << 16,
            Self::Timer { flow } => 1 | u64::from(*flow) << 16,
            Self::Timeout { tunnel, side } => 2 | u64::from(*side) << 8 | u64::from(*tunnel) << 16,
            Self::Echo { source } => 3 | u64::from(*source) << 16,
            Self::Stream { stream } => 5 | u64::from(*stream) << 16,
            Self::Link { fair } => 4 | u64::from(*fair) << 16,
            Self::Arrival { digest, .. } | Self::Plain { digest, .. } => *digest,
        }
    }
}

impl Happening {
    /// Returns the datagram that arrives.
    fn datagram(&self) -> Option<u32> {
        match *self {
            Self::Arrival { datagram: id, .. } | Self::Plain { packet: id, .. } => Some(id),
            _ => None,
        }
    }
}

impl Tunnel {
    pub(super) fn new(ends: [End; 2], routes: Vec<Route>) -> Self {
        Self {
            ends,
            routes,
            timeouts: [Time::MAX; 2],
            waits: Waits::default(),
            occupancy: Reordering::default(),
            arrived: 0,
            delivered: 0,
        }
    }

    /// Returns the link by which an end sends on a path.
    fn link(&self, side: usize, path: usize) -> LinkId {
        let Route { forward, backward, .. } = self.routes[path];
        if side == SENDER { forward } else { backward }
    }
}

impl World {
    /// Returns a world at time zero, in which the handshakes of the tunnels begin.
    pub(super) fn new(network: Network, fair: Vec<Fair<Happening>>, tunnels: Vec<Tunnel>) -> Self {
        let carried = Carried::new(&network, true);
        let (events, datagrams) = (Events::new(), Datagrams::default());
        let (flows, echoes, streams) = (Vec::new(), Vec::new(), Vec::new());
        let mut world =
            Self { events, network, tunnels, flows, echoes, streams, fair, carried, datagrams };
        for tunnel in 0..world.tunnels.len() {
            [SENDER, RECEIVER].into_iter().for_each(|side| world.poll(Time::ZERO, tunnel, side));
        }
        world.set_timers(Time::ZERO);
        world
    }

    /// Adds a flow.
    pub(super) fn add_flow(&mut self, flow: Flow) {
        self.events.schedule(flow.start, Happening::Start { flow: self.flows.len() as u8 });
        self.flows.push(flow);
    }

    /// Adds packets that are sent back, from `start` on.
    pub(super) fn add_echoes(&mut self, echoes: Echoes, start: Time) {
        self.events.schedule(start, Happening::Echo { source: self.echoes.len() as u8 });
        self.echoes.push(echoes);
    }

    /// Adds a stream, from `start` on.
    pub(super) fn add_stream(&mut self, stream: Stream, start: Time) {
        self.events.schedule(start, Happening::Stream { stream: self.streams.len() as u8 });
        self.streams.push(stream);
    }

    /// Returns the bytes that were given to all links.
    pub(super) fn offered(&self) -> u64 {
        let routes = self.tunnels.iter().flat_map(|tunnel| &tunnel.routes);
        let links = routes.flat_map(|route| [route.forward, route.backward]);
        links.map(|link| self.counters(link).offered.bytes).sum()
    }

    /// Returns what has become of all packets of a link.
    pub(super) fn counters(&self, link: LinkId) -> Counters {
        match self.fair.iter().find(|fair| fair.id == link) {
            Some(fair) => fair.link.counters(),
            None => *self.network.counters(link),
        }
    }

    /// Returns how long what waits for the transmitter of a link takes at its present rate.
    pub(super) fn backlog(&mut self, now: Time, link: LinkId) -> Duration {
        match self.fair.iter().find(|fair| fair.id == link) {
            Some(fair) => fair.backlog(),
            None => self.network.backlog(now, link),
        }
    }

    /// Handles the next event.
    pub(super) fn step(&mut self) {
        let Some(event) = self.events.pop() else { return };
        let now = self.events.now();
        self.happen(now, event);
        self.transmit(now);
        self.set_timers(now);
    }

    fn happen(&mut self, now: Time, event: Happening) {
        match event {
            Happening::Start { .. } => {}
            Happening::Timer { flow } => self.flows[usize::from(flow)].handle_timer(now),
            Happening::Timeout { tunnel, side } => {
                let (number, side) = (usize::from(tunnel), usize::from(side));
                let tunnel = &mut self.tunnels[number];
                if tunnel.timeouts[side] == now {
                    tunnel.timeouts[side] = Time::MAX;
                }
                let instant = self.network.instant(now);
                let end = &mut tunnel.ends[side];
                if end.next_timeout().is_some_and(|due| due <= instant) {
                    end.handle_timeout(instant);
                    self.deliver(now, number, side);
                    self.poll(now, number, side);
                }
            }
            Happening::Echo { source } => {
                let echoes = &mut self.echoes[usize::from(source)];
                let (packet, way, next) = (echoes.send(now), echoes.way, now + echoes.interval);
                self.events.schedule(next, event);
                self.send(now, SENDER, way, packet);
            }
            Happening::Stream { stream } => {
                let stream = &mut self.streams[usize::from(stream)];
                let (way, next) = (stream.way, now + stream.interval);
                let packets = [SENDER, RECEIVER].map(|side| stream.send(now, side));
                self.events.schedule(next, event);
                for (side, packet) in packets.into_iter().enumerate() {
                    self.send(now, side, way, packet);
                }
            }
            Happening::Plain { link, packet, copy, .. } => {
                let Datagram { len, mut content, ecn, .. } = *self.datagrams.get(packet);
                if ecn == Ecn::Ce {
                    content.mark();
                }
                let wire = if copy { 0 } else { len as u32 };
                self.carried.add(now, &self.network, link, wire);
                self.datagrams.release(packet);
                self.hand_over(now, content);
            }
            Happening::Arrival { tunnel, side, path, datagram, copy, .. } => {
                let (tunnel, side) = (usize::from(tunnel), usize::from(side));
                self.arrive(now, tunnel, side, path.into(), datagram, copy);
                self.deliver(now, tunnel, side);
                self.poll(now, tunnel, side);
            }
            Happening::Link { fair } => {
                let instant = self.network.instant(now);
                let number = usize::from(fair);
                while let Some((event, marked)) = self.fair[number].poll(now, instant) {
                    if let Some(id) = event.datagram().filter(|_| marked) {
                        self.datagrams.mark(id);
                    }
                    self.happen(now, event);
                }
                self.forget_dropped(number);
            }
        }
    }

    /// Receives a datagram at an end of a tunnel.
    fn arrive(&mut self, now: Time, tunnel: usize, side: usize, path: usize, id: u32, copy: bool) {
        let tunnel = &mut self.tunnels[tunnel];
        let datagram = self.datagrams.get(id);
        // A copy that the link has made takes nothing of its rate.
        let wire = if copy { 0 } else { wire_size(datagram.len).0 as u32 };
        self.carried.add(now, &self.network, tunnel.link(1 - side, path), wire);
        let end = &mut tunnel.ends[side];
        end.receive(self.network.instant(now), now, path, datagram);
        if side == RECEIVER && !matches!(datagram.content, Content::Control) {
            tunnel.arrived += 1;
            tunnel.occupancy.arrival(end.waiting());
        }
        self.datagrams.release(id);
    }

    /// Hands the packets that have come out of an end of a tunnel to the host behind it.
    fn deliver(&mut self, now: Time, number: usize, side: usize) {
        let tunnel = &mut self.tunnels[number];
        let out = tunnel.ends[side].take_out();
        for &Packet { arrived, content } in &out {
            if side == RECEIVER {
                let tunnel = &mut self.tunnels[number];
                tunnel.delivered += 1;
                tunnel.waits.add(now - arrived);
            }
            self.hand_over(now, content);
        }
        self.flows.iter_mut().for_each(|flow| flow.receiver.merge_acks());
        self.transmit(now);
        self.tunnels[number].ends[side].give_back(out);
    }

    /// Receives a packet at a host.
    fn hand_over(&mut self, now: Time, content: Content) {
        match content {
            Content::Control => {}
            Content::Data(flow, segment) => {
                self.flows[usize::from(flow)].receiver.handle_data(now, 0, &segment);
            }
            Content::Ack(flow, ack) => {
                self.flows[usize::from(flow)].sender.handle_ack(now, 0, &ack);
                // Sends after each packet: a window that several have opened at once would look unused.
                self.transmit(now);
            }
            Content::Echo(echo) => {
                self.echoes[usize::from(echo.source)].receive(now, echo);
            }
            Content::Stream(packet) => {
                self.streams[usize::from(packet.stream)].receive(now, packet);
            }
        }
    }

    /// Sends the packets that the hosts have.
    fn transmit(&mut self, now: Time) {
        for flow in 0..self.flows.len() {
            let way = self.flows[flow].way;
            while let Some(inner) = self.flows[flow].poll_ack() {
                self.send(now, RECEIVER, way, inner);
            }
            while let Some(inner) = self.flows[flow].poll_data(now) {
                self.send(now, SENDER, way, inner);
            }
        }
        for source in 0..self.echoes.len() {
            while let Some(inner) = self.echoes[source].poll_reply() {
                self.send(now, RECEIVER, self.echoes[source].way, inner);
            }
        }
    }

    fn send(&mut self, now: Time, side: usize, way: Way, inner: Inner) {
        match way {
            Way::Tunnel(tunnel) => {
                let instant = self.network.instant(now);
                self.tunnels[tunnel].ends[side].send(instant, inner, &mut self.datagrams);
                self.poll(now, tunnel, side);
            }
            Way::Route(route) => self.send_beside(now, side, route, inner),
        }
    }

    /// Sends a packet over a link beside all tunnels.
    fn send_beside(&mut self, now: Time, side: usize, route: Route, inner: Inner) {
        let Inner { size, content } = inner;
        let link = if side == SENDER { route.forward } else { route.backward };
        let size = size + ETHERNET;
        let digest = content.digest().rotate_left(32) ^ u64::MAX;
        let flow = content.flow();
        let datagram = (size as usize, 0, content, content.ecn());
        let packet = self.datagrams.add(datagram, |_| {});
        self.launch(now, link, (packet, ByteCount(size), flow), |packet, copy| Happening::Plain {
            link,
            packet,
            copy,
            digest,
        });
    }

    /// Sends the datagrams that leave an end of a tunnel now on its links.
    fn poll(&mut self, now: Time, number: usize, side: usize) {
        let instant = self.network.instant(now);
        let end = &mut self.tunnels[number].ends[side];
        end.poll(instant, &mut self.datagrams);
        let outbox = end.take_outbox();
        for &(path, id) in &outbox {
            let datagram = self.datagrams.get(id);
            if datagram.len as u64 + OUTER > u64::from(setup::PATH_MTU) {
                self.datagrams.release(id);
                continue;
            }
            let (to, digest) = (1 - side as u8, datagram.content.digest());
            let place = u64::from(datagram.number) << 16 | (path as u64) << 8 | u64::from(to);
            let digest = digest.rotate_left(32) ^ place ^ (number as u64).rotate_right(8);
            let link = self.tunnels[number].link(side, path);
            // All that a tunnel sends over a path has the same addresses and ports.
            let sent = (id, wire_size(datagram.len), FIRST_TUNNEL + number as u64);
            let (tunnel, path) = (number as u8, path as u8);
            self.launch(now, link, sent, |datagram, copy| Happening::Arrival {
                tunnel,
                side: to,
                path,
                datagram,
                copy,
                digest,
            });
        }
        self.tunnels[number].ends[side].give_back_outbox(outbox);
    }

    /// Sends a datagram of a flow on a link. `arrives` makes the event of its arrival, or of that of a copy.
    fn launch(
        &mut self,
        now: Time,
        link: LinkId,
        (id, size, flow): (u32, ByteCount, u64),
        arrives: impl Fn(u32, bool) -> Happening,
    ) {
        let ecn = self.datagrams.get(id).ecn;
        let capable = if ecn == Ecn::NotEct { Capable::No } else { Capable::Yes };
        if let Some(number) = self.fair.iter().position(|fair| fair.id == link) {
            let instant = self.network.instant(now);
            let fair = &mut self.fair[number].link;
            fair.enqueue(instant, flow, size, capable, arrives(id, false));
            self.forget_dropped(number);
            return;
        }
        let (at, twice, marked) = self.network.send_capable(now, link, size, capable);
        if marked {
            self.datagrams.mark(id);
        }
        let copy = twice.map(|at| (at, self.datagrams.duplicate(id)));
        match at {
            Some(at) => self.events.schedule(at, arrives(id, false)),
            None => self.datagrams.release(id),
        }
        if let Some((at, copy)) = copy {
            self.events.schedule(at, arrives(copy, true));
        }
    }

    /// Releases the datagrams that a link has dropped.
    fn forget_dropped(&mut self, fair: usize) {
        for event in self.fair[fair].link.take_dropped() {
            event.datagram().into_iter().for_each(|id| self.datagrams.release(id));
        }
    }

    fn set_timers(&mut self, now: Time) {
        for (number, flow) in (0..).zip(&mut self.flows) {
            if let Some(due) = flow.set_timer(now) {
                self.events.schedule(due, Happening::Timer { flow: number });
            }
        }
        for (number, fair) in (0..).zip(&mut self.fair) {
            if let Some(due) = fair.set_timer(now, &self.network) {
                self.events.schedule(due, Happening::Link { fair: number });
            }
        }
        for (number, tunnel) in (0..).zip(&mut self.tunnels) {
            for side in [SENDER, RECEIVER] {
                let due = tunnel.ends[side].next_timeout().map(|due| self.network.time(due));
                let known = &mut tunnel.timeouts[side];
                if let Some(due) = due.filter(|due| due < known) {
                    *known = due.max(now);
                    let event = Happening::Timeout { tunnel: number, side: side as u8 };
                    self.events.schedule(*known, event);
                }
            }
        }
    }
}

/// Returns what a datagram of `len` bytes takes on a link.
fn wire_size(len: usize) -> ByteCount {
    ByteCount(len as u64 + OUTER + ETHERNET)
}
