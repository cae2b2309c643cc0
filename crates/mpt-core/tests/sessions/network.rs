//! Two daemons joined by emulated links, in virtual time: real GRE datagrams with data and control
//! frames, clocks that differ, NATs that forget, hosts that restart. One seed decides everything; it
//! is printed, and so shown when a test fails.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use mpt_core::session::{PathView, SessionView};
use mpt_core::{
    Departure, DeviceId, DownReason, InnerPacket, Mapping, Outgoing, PathId, Seal, SocketId, Times,
    node,
};
use mpt_link::{ByteCount, Change, Link, Loss, Outcome, Probability};
use mpt_wire::control::Reason;
use mpt_wire::ecn;

pub use super::host::*;
pub use super::reader::Reader;

/// The destination of a path that has just lost its address to another one: nobody is there.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// Two hosts and the paths between them.
pub struct Network {
    pub hosts: [Host; 2],
    pub setup: Setup,
    start: Instant,
    now: Instant,
    links: Vec<[Link<Wire>; 2]>,
    /// By path and side: where its datagrams come from and are to go to, as the other one sees it.
    pub addresses: Vec<[SocketAddr; 2]>,
    /// By path and side: when data was last sent there.
    pub last_data: Vec<[Option<Instant>; 2]>,
    /// Control frames since this was switched on: sending side, path, datagram.
    pub captured: Option<Vec<(Side, usize, Wire)>>,
    /// Data since this was switched on: sending side, path, datagram.
    pub captured_data: Option<Vec<(Side, usize, Wire)>>,
    /// By path and sending side: the largest packet that passes.
    pub mtus: Vec<[u16; 2]>,
    /// Bytes of control frames by sending side.
    pub control_bytes: [u64; 2],
    /// By side: for how long the clock of the host has stood still.
    stood: [Duration; 2],
    /// By side: how it reads its sockets.
    pub readers: [Reader; 2],
    /// Events so far.
    pub steps: u64,
    random: u64,
}

impl Network {
    /// Builds it; nothing has been sent.
    pub fn new(setup: Setup) -> Self {
        eprintln!("seed {}", setup.seed);
        #[expect(clippy::disallowed_methods, reason = "any time will do as the first one")]
        let start = Instant::now() + Duration::from_secs(1_000_000);
        let links = setup.links.iter().enumerate().map(|(index, &params)| {
            SIDES.map(|side| {
                Link::new(start, params, [], mix(setup.seed, 2 * index as u64 + side as u64))
            })
        });
        let addresses: Vec<_> =
            (0..setup.links.len()).map(|path| SIDES.map(|side| address(path, side))).collect();
        let mut network = Self {
            hosts: SIDES.map(|side| Host::new(side, &setup, start, 0)),
            links: links.collect(),
            last_data: vec![[None; 2]; addresses.len()],
            addresses,
            start,
            now: start,
            captured: None,
            captured_data: None,
            mtus: vec![[u16::MAX; 2]; setup.links.len()],
            control_bytes: [0; 2],
            stood: [Duration::ZERO; 2],
            readers: Default::default(),
            steps: 0,
            random: mix(setup.seed, 0x6e65_7477),
            setup,
        };
        SIDES.into_iter().for_each(|side| network.begin(side));
        network
    }

    /// Builds it, and waits until every path works both ways.
    pub fn established(setup: Setup) -> Self {
        let mut network = Self::new(setup);
        network.expect(Duration::from_secs(3), "all paths come up", Self::is_all_up);
        network
    }

    pub fn now(&self) -> Instant {
        self.now
    }

    /// Since the beginning.
    pub fn time(&self) -> Duration {
        self.now - self.start
    }

    /// A number up to `bound`, other ones for other seeds.
    pub fn draw(&mut self, bound: u64) -> u64 {
        self.random = mix(self.random, 1);
        self.random % bound
    }

    /// Runs without traffic.
    pub fn run(&mut self, duration: Duration) {
        self.advance(self.now + duration);
    }

    /// Runs while both sides send a packet every `interval`.
    pub fn run_traffic(&mut self, duration: Duration, interval: Duration) {
        let until = self.now + duration;
        while self.now + interval <= until {
            self.advance(self.now + interval);
            SIDES.into_iter().for_each(|side| self.send(side));
        }
        self.advance(until);
    }

    /// Runs until something is so, which has to be within `limit`. Says how long it took.
    pub fn expect(&mut self, limit: Duration, what: &str, is: impl Fn(&Self) -> bool) -> Duration {
        let start = self.now;
        while !is(self) {
            assert!(self.now - start < limit, "within {limit:?}: {what}\n{}", self.describe());
            self.run(millis(1));
        }
        self.now - start
    }

    /// The same with a packet each way every millisecond.
    pub fn expect_under_traffic(
        &mut self,
        limit: Duration,
        what: &str,
        is: impl Fn(&Self) -> bool,
    ) -> Duration {
        let start = self.now;
        while !is(self) {
            assert!(self.now - start < limit, "within {limit:?}: {what}\n{}", self.describe());
            self.run_traffic(millis(1), millis(1));
        }
        self.now - start
    }

    /// A packet from the device of `side`.
    pub fn send(&mut self, side: Side) {
        let id = self.hosts[side].sent;
        self.send_packet(side, inner(side, id).to_vec());
    }

    /// This packet from the device of `side`, with its id at the end.
    pub fn send_packet(&mut self, side: Side, mut inner: Vec<u8>) {
        let local = self.local(side);
        let host = &mut self.hosts[side];
        if !host.running {
            return;
        }
        let packet = InnerPacket::whole(&mut inner).unwrap();
        let given = host.node.handle_inner(local, DeviceId(0), packet);
        match given {
            Ok(outgoing) => {
                host.sent += 1;
                let datagrams = framed(&outgoing, &inner).expect("there are keys");
                if let Some(id) = outgoing.stored {
                    if host.spoils && !datagrams.is_empty() {
                        spoil(&mut inner);
                    }
                    host.store.insert(id, inner);
                }
                self.send_data(side, datagrams);
            }
            Err(reason) => {
                use mpt_core::InnerDrop::{NoKeys, NoPath};
                assert!(matches!(reason, NoPath | NoKeys), "{reason:?}");
                host.refused += 1;
            }
        }
        self.flush(side);
    }

    /// Sends what leaves the queue of the connection, or again.
    fn depart(&mut self, side: Side) {
        let local = self.local(side);
        loop {
            let host = &mut self.hosts[side];
            let Some(departure) = host.node.poll_departure(local) else { return };
            let Departure { packet, outgoing, released } = departure;
            let datagrams = host.store.get(&packet).and_then(|inner| framed(&outgoing, inner));
            if released {
                host.store.remove(&packet);
            } else if host.spoils && !outgoing.transmits.is_empty() {
                host.store.entry(packet).and_modify(|inner| spoil(inner));
            }
            self.send_data(side, datagrams.unwrap_or_default());
        }
    }

    fn send_data(&mut self, side: Side, datagrams: Vec<(PathId, Vec<u8>)>) {
        for (id, bytes) in datagrams {
            let path = self.hosts[side].path_index(id);
            let to = self.hosts[side].node.tunnels().path(id).unwrap().remote().unwrap_or(NOWHERE);
            self.last_data[path][side] = Some(self.now);
            if let Some(captured) = &mut self.captured_data {
                let from = self.addresses[path][side];
                captured.push((side, path, Wire { from, to, bytes: bytes.clone() }));
            }
            let _ = self.transmit(side, path, to, bytes);
        }
    }

    /// Runs `act` on a host at its own time, and what follows from that.
    pub fn at<R>(&mut self, side: Side, act: impl FnOnce(&mut Host, Instant) -> R) -> R {
        let local = self.local(side);
        let result = act(&mut self.hosts[side], local);
        self.flush(side);
        result
    }

    /// A datagram comes to `side` on a path, from anywhere.
    pub fn inject(&mut self, side: Side, path: usize, from: SocketAddr, mut bytes: Vec<u8>) {
        let local = self.local(side);
        self.receive(side, local.into(), path, from, &mut bytes);
    }

    /// Changes a link in one direction.
    pub fn change(&mut self, side: Side, path: usize, change: Change) {
        self.links[path][side].change(self.now, change);
    }

    /// All that `side` sends on a path is lost, or nothing.
    pub fn cut(&mut self, side: Side, path: usize, cut: bool) {
        let loss =
            if cut { Loss::Bernoulli(Probability::ONE) } else { self.setup.links[path].loss };
        self.change(side, path, Change::Loss(loss));
    }

    /// The same both ways.
    pub fn cut_both(&mut self, path: usize, cut: bool) {
        SIDES.into_iter().for_each(|side| self.cut(side, path, cut));
    }

    /// The client's datagrams come from another address.
    pub fn rebind(&mut self, path: usize, to: SocketAddr) {
        self.addresses[path][CLIENT] = to;
    }

    /// The host ends without a word.
    pub fn kill(&mut self, side: Side) {
        self.hosts[side].running = false;
    }

    /// The host does nothing for so long, while the other one has data to send every 50 ms, and then goes on where it was. Its clock
    /// stands still meanwhile, as that of Linux does while a machine is suspended, unless it `goes_on`, as it does while a process is
    /// stopped.
    pub fn suspend(&mut self, side: Side, duration: Duration, goes_on: bool) {
        self.hosts[side].running = false;
        let until = self.now + duration;
        while self.now < until {
            self.advance((self.now + Duration::from_millis(50)).min(until));
            self.send(1 - side);
        }
        if !goes_on {
            self.stood[side] += duration;
        }
        self.hosts[side].running = true;
    }

    /// Another daemon takes its place, which knows nothing of the past.
    pub fn restart(&mut self, side: Side) {
        let (local, lives) = (self.local(side), self.hosts[side].lives + 1);
        let fresh = Host::new(side, &self.setup, local, lives);
        let before = std::mem::replace(&mut self.hosts[side], fresh);
        let host = &mut self.hosts[side];
        (host.sent, host.refused) = (before.sent, before.refused);
        host.delivered = before.delivered;
        self.begin(side);
    }

    /// The connection of a host is removed; its session stays.
    pub fn delete(&mut self, side: Side) {
        self.at(side, |host, now| {
            host.node.remove_connection(now, host.connection, &mut host.sink);
        });
    }

    /// A connection that was removed is made again with other numbers, for the session that there is.
    pub fn create(&mut self, side: Side) {
        let setup = self.setup.clone();
        self.at(side, |host, now| {
            let config = connection(side, &setup);
            host.connection = host.node.add_connection(now, config).expect("it was right before");
            let paths = setup.links.iter().enumerate();
            let path = |(nth, _)| {
                host.node.tunnels().find_path(host.connection, &format!("path {nth}")).unwrap()
            };
            host.paths = paths.map(path).collect();
            let names: Vec<_> = host.paths.iter().map(|&path| (None, path)).collect();
            host.node.attach(now, host.session, host.connection, &names);
        });
    }

    /// Both, one after the other.
    pub fn remake(&mut self, side: Side) {
        self.delete(side);
        self.create(side);
    }

    /// The session of a host is closed, and another one takes over its connection.
    pub fn hand_over(&mut self, side: Side) {
        let removed = Reason::CONNECTION_REMOVED;
        self.at(side, |host, now| host.node.close_session(now, host.session, removed));
        self.begin(side);
    }

    /// The file of a host says otherwise how data is mapped.
    pub fn set_mapping(&mut self, side: Side, mapping: Mapping) {
        self.setup.mapping = mapping;
        self.set_seal(side, self.setup.seal[side]);
    }

    /// The file of a host says otherwise whether data is sealed.
    pub fn set_seal(&mut self, side: Side, seal: Seal) {
        self.setup.seal[side] = seal;
        let setup = self.setup.clone();
        self.at(side, |host, now| {
            let config = connection(side, &setup);
            let made = host.node.reconfigure(now, vec![config], &mut host.sink);
            assert_eq!(made.expect("it was right before"), [host.connection]);
            let config = session(side, &setup);
            assert!(host.node.update_session(now, host.session, config));
        });
    }

    fn begin(&mut self, side: Side) {
        let setup = self.setup.clone();
        self.at(side, |host, now| {
            let config = session(side, &setup);
            let (connection, tunnels) = (host.connection, host.node.tunnels());
            let paths = tunnels.connection(connection).unwrap().paths();
            let paths: Vec<_> = paths.map(|path| (None, path)).collect();
            host.session = host.node.add_session(now, config);
            host.node.attach(now, host.session, connection, &paths);
        });
    }

    pub fn session(&self, side: Side) -> SessionView {
        self.hosts[side]
            .node
            .sessions()
            .session(self.hosts[side].session)
            .expect("nobody removes it")
    }

    pub fn path(&self, side: Side, path: usize) -> PathView {
        let host = &self.hosts[side];
        host.node.sessions().path(host.session, host.paths[path]).expect("nobody removes it")
    }

    /// Whether data is sent on a path.
    pub fn is_up(&self, side: Side, path: usize) -> bool {
        let host = &self.hosts[side];
        host.node.tunnels().path(host.paths[path]).is_some_and(mpt_core::Path::is_up)
    }

    /// Whether a side waits for packets on a path.
    pub fn is_heard(&self, side: Side, path: usize) -> bool {
        let host = &self.hosts[side];
        host.node.tunnels().path(host.paths[path]).is_some_and(mpt_core::Path::is_heard)
    }

    pub fn is_up_both(&self, path: usize) -> bool {
        SIDES.iter().all(|&side| self.is_up(side, path) && self.is_heard(side, path))
    }

    pub fn is_down_both(&self, path: usize) -> bool {
        SIDES.iter().all(|&side| !self.is_up(side, path))
    }

    pub fn is_all_up(&self) -> bool {
        (0..self.links.len()).all(|path| self.is_up_both(path))
    }

    pub fn down(&self, side: Side, path: usize, reason: DownReason) -> bool {
        let host = &self.hosts[side];
        let path = host.node.tunnels().path(host.paths[path]);
        path.is_some_and(|path| path.down_reasons().contains(reason))
    }

    /// Ids that the other side has delivered of what `side` has sent.
    pub fn delivered(&self, side: Side) -> Vec<u64> {
        self.hosts[1 - side].delivered.iter().map(|&(_, id)| id).collect()
    }

    /// Lets everything happen that is due until `until`, each at its time.
    fn advance(&mut self, until: Instant) {
        while let Some(next) = self.next_event().filter(|&next| next <= until) {
            self.now = self.now.max(next);
            self.steps += 1;
            for side in SIDES {
                self.handle_timeout(side);
                self.read(side);
            }
            for path in 0..self.links.len() {
                for side in SIDES {
                    while let Some(wire) = self.links[path][side].poll(self.now) {
                        // A receiver that has another address by now gets nothing.
                        if wire.to == self.addresses[path][1 - side] {
                            self.arrive(1 - side, path, wire);
                        }
                    }
                }
            }
        }
        self.now = until;
    }

    fn next_event(&self) -> Option<Instant> {
        let links = self.links.iter().flatten().filter_map(Link::next_timeout);
        let hosts = SIDES.into_iter().filter(|&side| self.hosts[side].running);
        let timers = hosts.flat_map(|side| {
            let host = &self.hosts[side];
            host.node.next_timeout().map(|local| self.global(side, local))
        });
        let readers = self.readers.iter().filter_map(Reader::next);
        links.chain(timers).chain(readers).min()
    }

    fn handle_timeout(&mut self, side: Side) {
        let local = self.local(side);
        let host = &mut self.hosts[side];
        if !host.running {
            return;
        }
        if host.node.next_timeout().is_some_and(|at| at <= local) {
            host.node.handle_timeout(local, &mut host.sink);
            let next = host.node.next_timeout();
            assert!(next.is_none_or(|next| next > local), "a timeout is left that was due");
            self.flush(side);
        }
    }

    /// A datagram arrives: the host reads it at once or later.
    fn arrive(&mut self, side: Side, path: usize, mut wire: Wire) {
        let local = self.local(side);
        if self.readers[side].is_late() {
            let wait = millis(Reader::SHORTEST_WAIT + self.draw(Reader::MORE));
            self.readers[side].put(self.now, local, wait, (path, wire));
        } else {
            self.receive(side, local.into(), path, wire.from, &mut wire.bytes);
        }
    }

    fn read(&mut self, side: Side) {
        let local = self.local(side);
        for (arrived, path, mut wire) in self.readers[side].take(self.now, local) {
            let at = Times::new(local, arrived);
            self.receive(side, at, path, wire.from, &mut wire.bytes);
        }
    }

    fn receive(&mut self, side: Side, at: Times, path: usize, from: SocketAddr, bytes: &mut [u8]) {
        let host = &mut self.hosts[side];
        if !host.running {
            return;
        }
        let socket = SocketId(path as u32);
        host.sink.datagram.clear();
        host.sink.datagram.extend_from_slice(bytes);
        // Refused is data that was on its way when its path moved or its host began anew.
        let _ =
            host.node.handle_datagram(at, socket, from, ecn::Ecn::NotEct, WHOLE, &mut host.sink);
        self.flush(side);
    }

    /// Sends what a host has to send, and notes what else came out of it.
    fn flush(&mut self, side: Side) {
        let now = self.now;
        let host = &mut self.hosts[side];
        host.delivered.extend(host.sink.delivered.drain(..).map(|id| (now, id)));
        while let Some(event) = host.node.poll_path_event() {
            if let node::PathEvent::Session(event) = event {
                host.path_events.push(event);
            }
        }
        while let Some(event) = host.node.poll_event() {
            match event {
                node::Event::Session(event) => host.events.push(event),
                node::Event::Prototype(event) => panic!("there is no prototype: {event:?}"),
            }
        }
        while let Some(transmit) = self.hosts[side].node.poll_transmit() {
            let host = &self.hosts[side];
            let (path, to) = match transmit.destination {
                node::Destination::Path(id) => {
                    let path = host.node.tunnels().path(id).unwrap();
                    (host.path_index(id), path.remote().unwrap_or(NOWHERE))
                }
                node::Destination::Address { socket, remote } => (socket.0 as usize, remote),
                other => panic!("there is no prototype: {other:?}"),
            };
            let bytes = transmit.to_vec();
            self.control_bytes[side] += transmit.pieces()[1].len() as u64;
            let wire = Wire { from: self.addresses[path][side], to, bytes: bytes.clone() };
            if let Some(captured) = &mut self.captured {
                captured.push((side, path, wire));
            }
            let _ = self.transmit(side, path, to, bytes);
            self.hosts[side].node.recycle(transmit);
        }
        self.depart(side);
    }

    fn transmit(&mut self, side: Side, path: usize, to: SocketAddr, bytes: Vec<u8>) -> Outcome {
        let size = ByteCount(bytes.len() as u64 + 28);
        if size.0 > u64::from(self.mtus[path][side]) {
            return Outcome::Lost;
        }
        let from = self.addresses[path][side];
        self.links[path][side].enqueue(self.now, size, Wire { from, to, bytes })
    }

    /// Returns the time that the clock of a host shows now.
    pub fn local(&self, side: Side) -> Instant {
        let elapsed = (self.now - self.start - self.stood[side]).as_nanos() as i128;
        let shown = elapsed + elapsed * i128::from(self.setup.skew[side]) / 1_000_000;
        self.start + offset(side) + Duration::from_nanos(shown as u64)
    }

    /// When its clock will show that, or a little later.
    fn global(&self, side: Side, local: Instant) -> Instant {
        let shown = local.saturating_duration_since(self.start + offset(side)).as_nanos() as i128;
        let elapsed = shown * 1_000_000 / (1_000_000 + i128::from(self.setup.skew[side]));
        self.start + self.stood[side] + Duration::from_nanos(elapsed as u64 + 2)
    }
}

/// The datagrams of a packet, by path: one and its copies. `None` if it must not be sent.
fn framed(outgoing: &Outgoing<'_>, inner: &[u8]) -> Option<Vec<(PathId, Vec<u8>)>> {
    let Some(first) = outgoing.transmits.first() else { return Some(Vec::new()) };
    let mut bytes = vec![0; outgoing.header_len()];
    bytes.extend_from_slice(inner);
    bytes.resize(bytes.len() + outgoing.trailer_len(), 0);
    let copies = outgoing.transmits.iter();
    outgoing
        .frame(first, &mut bytes)
        .then(|| copies.map(|copy| (copy.path, bytes.clone())).collect())
}

/// Makes another packet of it, the same each time.
fn spoil(inner: &mut [u8]) {
    let id = inner.len() - 8;
    inner[id] = 1;
}

/// The clocks of two hosts have nothing in common.
fn offset(side: Side) -> Duration {
    Duration::from_secs(1000 * side as u64)
}
