//! Senders and receivers joined by a network.

use mpt_link::ByteCount;

use crate::kernel::time::Time;
use crate::kernel::{Event, Events};
use crate::network::{Carried, LinkId, Network, Route};

/// A packet that an endpoint wants sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<P> {
    /// The endpoint's path that it is sent on, counted from 0.
    pub path: usize,
    /// Its size on the wire, headers included.
    pub size: ByteCount,
    /// The packet itself.
    pub packet: P,
}

/// The interface of packets of any protocol.
pub trait Packet: Copy {
    /// Returns a number that distinguishes this packet from others, for the hash of the trace.
    fn digest(&self) -> u64;
}

/// The end that has data to send. It does no I/O and reads no clock: time is an argument, packets are return values.
pub trait Sender {
    /// The type of its data packets.
    type Data: Packet;
    /// The type of the acknowledgements that it receives.
    type Ack: Packet;

    /// Handles an acknowledgement that came in on this path.
    fn handle_ack(&mut self, now: Time, path: usize, ack: &Self::Ack);
    /// Handles the timeout announced by [`Sender::next_timeout`].
    fn handle_timeout(&mut self, now: Time);
    /// Returns the next packet to be sent. It is called until there is none, after every other call.
    fn poll_transmit(&mut self, now: Time) -> Option<Outgoing<Self::Data>>;
    /// Returns the time at which [`Sender::handle_timeout`] has to be called.
    fn next_timeout(&self) -> Option<Time>;
    /// Returns the number of packets of application data to be delivered in all; `None` for an endless flow.
    fn total(&self) -> Option<u64>;
    /// True if the sender has given up and makes no more progress.
    fn is_dead(&self) -> bool {
        false
    }
}

/// The end that receives data.
pub trait Receiver {
    /// The type of data packets that it receives.
    type Data: Packet;
    /// The type of its acknowledgements.
    type Ack: Packet;

    /// Handles a data packet that came in on this path.
    fn handle_data(&mut self, now: Time, path: usize, data: &Self::Data);
    /// Returns the next packet to be sent. It is called until there is none, after every other call.
    fn poll_transmit(&mut self) -> Option<Outgoing<Self::Ack>>;
    /// Returns the number of packets of application data delivered, each once and in order.
    fn delivered(&self) -> u64;
}

/// The reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Everything was delivered.
    Finished,
    /// The limit of simulated time was reached.
    TimeOver,
    /// A sender has given up, or no event was left.
    NoProgress,
}

/// One transfer.
#[derive(Clone, Debug)]
pub struct Flow<S, R> {
    /// Its sender.
    pub sender: S,
    /// Its receiver.
    pub receiver: R,
    /// The time at which the last packet of its data was delivered.
    pub finished: Option<Time>,
    routes: Vec<Route>,
    start: Time,
    /// The time at which the timer event that is waited for comes.
    wake: Time,
}

#[derive(Clone, Copy, Debug)]
enum Happening<D, A> {
    Start { flow: u16 },
    Timer { flow: u16 },
    Data { flow: u16, path: u8, size: u32, data: D },
    Ack { flow: u16, path: u8, size: u32, ack: A },
}

impl<D: Packet, A: Packet> Event for Happening<D, A> {
    fn digest(&self) -> u64 {
        let (kind, flow, path, packet) = match self {
            Self::Start { flow } => (0, *flow, 0, 0),
            Self::Timer { flow } => (1, *flow, 0, 0),
            Self::Data { flow, path, data, .. } => (2, *flow, *path, data.digest()),
            Self::Ack { flow, path, ack, .. } => (3, *flow, *path, ack.digest()),
        };
        packet.rotate_left(32) ^ (kind << 24 | u64::from(flow) << 8 | u64::from(path))
    }
}

/// A network and the flows over it.
#[derive(Clone, Debug)]
pub struct Simulation<S: Sender, R> {
    events: Events<Happening<S::Data, S::Ack>>,
    network: Network,
    flows: Vec<Flow<S, R>>,
    carried: Carried,
}

impl<S, R> Simulation<S, R>
where
    S: Sender,
    R: Receiver<Data = S::Data, Ack = S::Ack>,
{
    /// Returns a simulation without flows. With `checked`, the invariants of links are checked packet by packet.
    pub fn new(network: Network, checked: bool) -> Self {
        let carried = Carried::new(&network, checked);
        Self { events: Events::new(), network, flows: Vec::new(), carried }
    }

    /// Adds a flow that begins at `start` and has one path per route.
    pub fn add_flow(&mut self, sender: S, receiver: R, routes: &[Route], start: Time) {
        let flow = self.flows.len() as u16;
        self.events.schedule(start, Happening::Start { flow });
        let (finished, wake, routes) = (None, Time::MAX, routes.to_vec());
        self.flows.push(Flow { sender, receiver, finished, routes, start, wake });
    }

    /// Runs until all flows that have an end have reached it, at most until `limit`. Calls `observe` with each flow after every event of it.
    pub fn run(&mut self, limit: Time, mut observe: impl FnMut(Time, usize, &Flow<S, R>)) -> End {
        loop {
            if self.events.next_time().is_some_and(|next| next > limit) {
                return End::TimeOver;
            }
            let Some(event) = self.events.pop() else { return End::NoProgress };
            let now = self.events.now();
            let flow = self.handle(now, event);
            self.transmit(now, flow);
            observe(now, flow, &self.flows[flow]);
            if self.has_ended(now, flow) {
                return End::Finished;
            }
            if self.flows.iter().all(|flow| flow.finished.is_some() || flow.sender.is_dead()) {
                return End::NoProgress;
            }
        }
    }

    /// Returns the network, with its counters.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the network, to change it.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// Returns the flows, in the order in which they were added.
    pub fn flows(&self) -> &[Flow<S, R>] {
        &self.flows
    }

    /// Returns the virtual time.
    pub fn now(&self) -> Time {
        self.events.now()
    }

    /// Returns the number of events handled.
    pub fn handled(&self) -> u64 {
        self.events.handled()
    }

    /// Returns the hash of the events; see [`Events::trace`].
    pub fn trace(&self) -> u64 {
        self.events.trace()
    }

    /// Returns the bytes that have come out of a link.
    pub fn carried(&self, link: LinkId) -> u64 {
        self.carried.bytes(link)
    }

    fn handle(&mut self, now: Time, event: Happening<S::Data, S::Ack>) -> usize {
        match event {
            Happening::Start { flow } => usize::from(flow),
            Happening::Timer { flow } => {
                let flow = usize::from(flow);
                let it = &mut self.flows[flow];
                if it.wake == now {
                    it.wake = Time::MAX;
                }
                if it.sender.next_timeout().is_some_and(|due| due <= now) {
                    it.sender.handle_timeout(now);
                }
                flow
            }
            Happening::Data { flow, path, size, data } => {
                let (flow, path) = (usize::from(flow), usize::from(path));
                let link = self.flows[flow].routes[path].forward;
                self.carried.add(now, &self.network, link, size);
                self.flows[flow].receiver.handle_data(now, path, &data);
                flow
            }
            Happening::Ack { flow, path, size, ack } => {
                let (flow, path) = (usize::from(flow), usize::from(path));
                let link = self.flows[flow].routes[path].backward;
                self.carried.add(now, &self.network, link, size);
                self.flows[flow].sender.handle_ack(now, path, &ack);
                flow
            }
        }
    }

    fn transmit(&mut self, now: Time, number: usize) {
        let flow = &mut self.flows[number];
        if now < flow.start {
            return;
        }
        while let Some(Outgoing { path, size, packet }) = flow.receiver.poll_transmit() {
            let Route { backward, detour, .. } = flow.routes[path];
            let (at, copy) = self.network.send(now, backward, size);
            // A copy takes no share of the rate.
            for (at, size) in [(at, size.0 as u32), (copy, 0)] {
                let Some(at) = at else { continue };
                let (flow, path) = (number as u16, path as u8);
                self.events.schedule(at + detour, Happening::Ack { flow, path, size, ack: packet });
            }
        }
        while let Some(Outgoing { path, size, packet }) = flow.sender.poll_transmit(now) {
            let Route { forward, detour, .. } = flow.routes[path];
            let (at, copy) = self.network.send(now, forward, size);
            for (at, size) in [(at, size.0 as u32), (copy, 0)] {
                let Some(at) = at else { continue };
                let (flow, path) = (number as u16, path as u8);
                self.events
                    .schedule(at + detour, Happening::Data { flow, path, size, data: packet });
            }
        }
        if let Some(due) = flow.sender.next_timeout()
            && due < flow.wake
        {
            flow.wake = due.max(now);
            self.events.schedule(flow.wake, Happening::Timer { flow: number as u16 });
        }
    }

    fn has_ended(&mut self, now: Time, number: usize) -> bool {
        let flow = &mut self.flows[number];
        if flow.finished.is_none()
            && flow.sender.total().is_some_and(|total| flow.receiver.delivered() >= total)
        {
            flow.finished = Some(now);
            let mut bounded = self.flows.iter().filter(|flow| flow.sender.total().is_some());
            return bounded.all(|flow| flow.finished.is_some());
        }
        false
    }
}
