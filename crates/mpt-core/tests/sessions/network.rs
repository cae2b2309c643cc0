//! Two daemons joined by emulated links, in virtual time: real GRE datagrams with data and control
//! frames, clocks that differ, NATs that forget, hosts that restart. One seed decides everything; it
//! is printed, and so shown when a test fails.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::time::{Duration, Instant};

use mpt_core::liveness::{State, Timing};
use mpt_core::session::{
    Event, PathEvent, PathView, PrivateKey, SessionConfig, SessionId, SessionView,
};
use mpt_core::{
    ConnectionConfig, ConnectionId, DeviceId, DeviceSink, Direction, DownReason, InnerPacket,
    Mapping, Node, PacketMemory, PathConfig, PathId, Selector, SocketId, Transmit, node, reorder,
};
use mpt_link::{ByteCount, Change, Link, Loss, Outcome, Params, Probability};
use mpt_wire::control::Kind;
use mpt_wire::ecn;
use mpt_wire::gre;

/// The index of a host, and of the direction in which it sends.
pub type Side = usize;

/// Begins handshakes.
pub const CLIENT: Side = 0;
/// Waits for them.
pub const SERVER: Side = 1;
pub const SIDES: [Side; 2] = [CLIENT, SERVER];

/// Length of the inner packets: headers and an id.
const INNER: usize = 20 + 8 + 8;

pub const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// What two hosts and their network are like.
#[derive(Clone, Debug)]
pub struct Setup {
    pub seed: u64,
    /// By path: each way.
    pub links: Vec<Params>,
    /// Whether the server learns the addresses of the client.
    pub learn: bool,
    /// Whether the server begins handshakes, too.
    pub both_initiate: bool,
    /// The server numbers its paths the other way round.
    pub reversed: bool,
    /// By how many ppm each host's clock is fast.
    pub skew: [i64; 2],
    pub timing: Timing,
    pub weights: Vec<u16>,
}

impl Setup {
    /// Paths with these delays, in milliseconds.
    pub fn new(seed: u64, delays: &[u64]) -> Self {
        let link = |&delay| Params { delay: millis(delay), ..Params::default() };
        Self {
            seed,
            links: delays.iter().map(link).collect(),
            learn: false,
            both_initiate: false,
            reversed: false,
            skew: [0, 0],
            timing: Timing::default(),
            weights: vec![1; delays.len()],
        }
    }

    pub fn learning(mut self) -> Self {
        self.learn = true;
        self
    }

    pub fn links(mut self, change: impl Fn(&mut Params)) -> Self {
        self.links.iter_mut().for_each(change);
        self
    }
}

/// A datagram on its way.
#[derive(Clone, Debug)]
pub struct Wire {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
}

/// Received packets are known by their ids.
type Packet = u64;
/// The datagram that has just arrived.
const WHOLE: Packet = Packet::MAX;

#[derive(Default)]
struct Sink {
    delivered: Vec<Packet>,
    datagram: Vec<u8>,
}

impl PacketMemory<Packet> for Sink {
    fn bytes_mut(&mut self, _: Packet) -> &mut [u8] {
        &mut self.datagram
    }

    fn accept(&mut self, _: Packet, _: ConnectionId, range: Range<usize>) -> Packet {
        let inner = &self.datagram[range];
        u64::from_be_bytes(inner[INNER - 8..].try_into().unwrap())
    }
}

impl DeviceSink<Packet> for Sink {
    fn keep(&mut self, packet: Packet) -> Option<Packet> {
        Some(packet)
    }

    fn deliver(&mut self, _: DeviceId, packet: Packet, _kept: bool, _after_gap: bool) {
        self.delivered.push(packet);
    }

    fn discard(&mut self, _: Packet) {}
}

/// One daemon.
pub struct Host {
    pub node: Node<Packet>,
    pub connection: ConnectionId,
    pub session: SessionId,
    pub paths: Vec<PathId>,
    pub events: Vec<Event>,
    pub path_events: Vec<PathEvent>,
    sink: Sink,
    /// Ids of the next packet and of all that were delivered, in order.
    pub sent: u64,
    pub refused: u64,
    pub delivered: Vec<(Instant, u64)>,
    pub running: bool,
    lives: u64,
}

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
    /// By path and sending side: the largest packet that passes.
    pub mtus: Vec<[u16; 2]>,
    /// Bytes of control frames by sending side.
    pub control_bytes: [u64; 2],
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
            mtus: vec![[u16::MAX; 2]; setup.links.len()],
            control_bytes: [0; 2],
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
        let local = self.local(side);
        let host = &mut self.hosts[side];
        if !host.running {
            return;
        }
        let mut inner = inner(side, host.sent);
        let packet = InnerPacket::whole(&mut inner).unwrap();
        let given = host.node.handle_inner(local, DeviceId(0), packet);
        match given {
            Ok(outgoing) => {
                host.sent += 1;
                let framed = |transmit: &Transmit| {
                    let mut bytes = vec![0; outgoing.header_len()];
                    outgoing.frame(transmit, &mut bytes, &inner);
                    bytes.extend_from_slice(&inner);
                    (transmit.path, bytes)
                };
                let datagrams: Vec<(PathId, Vec<u8>)> =
                    outgoing.transmits.iter().map(framed).collect();
                for (id, bytes) in datagrams {
                    let path = self.hosts[side].path_index(id);
                    let to = self.hosts[side].node.tunnels().path(id).unwrap().remote();
                    self.last_data[path][side] = Some(self.now);
                    let _ = self.transmit(side, path, to, bytes);
                }
            }
            Err(reason) => {
                assert_eq!(reason, mpt_core::InnerDrop::NoPath);
                host.refused += 1;
            }
        }
        self.flush(side);
    }

    /// What `act` does to a host at its own time, and what follows from that.
    pub fn at<R>(&mut self, side: Side, act: impl FnOnce(&mut Host, Instant) -> R) -> R {
        let local = self.local(side);
        let result = act(&mut self.hosts[side], local);
        self.flush(side);
        result
    }

    /// A datagram comes to `side` on a path, from anywhere.
    pub fn inject(&mut self, side: Side, path: usize, from: SocketAddr, mut bytes: Vec<u8>) {
        self.receive(side, path, from, &mut bytes);
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

    fn begin(&mut self, side: Side) {
        let setup = self.setup.clone();
        self.at(side, |host, now| {
            let config = session(side, &setup, host);
            let (connection, paths) = (host.connection, config.paths.clone());
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

    /// Everything that was sent has been delivered, once and in order.
    pub fn assert_nothing_lost(&self) {
        self.assert_nothing_lost_from([0, 0]);
        for side in SIDES {
            assert_eq!(self.hosts[side].refused, 0, "from {side}");
        }
    }

    /// The same of the packets from these ids on.
    pub fn assert_nothing_lost_from(&self, first: [u64; 2]) {
        for side in SIDES {
            let delivered = self
                .delivered(side)
                .into_iter()
                .filter(|&id| id >= first[side])
                .collect::<Vec<_>>();
            let expected: Vec<u64> = (first[side]..self.hosts[side].sent).collect();
            let wrong = delivered.iter().zip(&expected).position(|(a, b)| a != b);
            let from = wrong.unwrap_or(0).saturating_sub(3);
            assert!(
                delivered == expected,
                "from {side}: {} of {}, first wrong at {wrong:?}: {:?} instead of {:?}\n{}",
                delivered.len(),
                expected.len(),
                &delivered[from.min(delivered.len())..delivered.len().min(from + 10)],
                &expected[from.min(expected.len())..expected.len().min(from + 10)],
                self.describe(),
            );
        }
    }

    /// For messages.
    pub fn describe(&self) -> String {
        let mut text = format!("at {:?}, seed {}\n", self.time(), self.setup.seed);
        for side in SIDES {
            let session = self.session(side);
            text += &format!(
                "side {side}: established {} initiator {} handshakes {} open {} announced {} active {}\n",
                session.established.is_some(),
                session.initiator,
                session.handshakes,
                session.open,
                session.announced,
                session.active,
            );
            for (index, path) in session.paths.iter().enumerate() {
                let data = self.hosts[side].node.tunnels().path(path.path);
                text += &format!(
                    "  {index}: {:?} silent {} suspended {} id {:?} remote {:?} peer {:?} {:?} down {:?} rtt {:?}\n",
                    path.state,
                    path.silent,
                    path.suspended,
                    path.id,
                    path.remote,
                    path.peer_state,
                    path.peer_weight,
                    data.map(|data| data.down_reasons()),
                    path.rtt,
                );
            }
            text += &format!("  {:?}\n", self.hosts[side].node.sessions().counters());
        }
        text
    }

    /// Lets everything happen that is due until `until`, each at its time.
    fn advance(&mut self, until: Instant) {
        while let Some(next) = self.next_event().filter(|&next| next <= until) {
            self.now = self.now.max(next);
            self.steps += 1;
            for side in SIDES {
                self.handle_timeout(side);
            }
            for path in 0..self.links.len() {
                for side in SIDES {
                    while let Some(mut wire) = self.links[path][side].poll(self.now) {
                        // Where the receiver was, nobody is any more.
                        if wire.to == self.addresses[path][1 - side] {
                            self.receive(1 - side, path, wire.from, &mut wire.bytes);
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
        links.chain(timers).min()
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

    fn receive(&mut self, side: Side, path: usize, from: SocketAddr, bytes: &mut [u8]) {
        let local = self.local(side);
        let host = &mut self.hosts[side];
        if !host.running {
            return;
        }
        let socket = SocketId(path as u32);
        host.sink.datagram.clear();
        host.sink.datagram.extend_from_slice(bytes);
        // Refused is data that was on its way when its path moved or its host began anew.
        let _ =
            host.node.handle_datagram(local, socket, from, ecn::Ecn::NotEct, WHOLE, &mut host.sink);
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
                    (host.path_index(id), host.node.tunnels().path(id).unwrap().remote())
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
    }

    fn transmit(&mut self, side: Side, path: usize, to: SocketAddr, bytes: Vec<u8>) -> Outcome {
        let size = ByteCount(bytes.len() as u64 + 28);
        if size.0 > u64::from(self.mtus[path][side]) {
            return Outcome::Lost;
        }
        let from = self.addresses[path][side];
        self.links[path][side].enqueue(self.now, size, Wire { from, to, bytes })
    }

    /// What the clock of a host shows now.
    pub fn local(&self, side: Side) -> Instant {
        let elapsed = (self.now - self.start).as_nanos() as i128;
        let shown = elapsed + elapsed * i128::from(self.setup.skew[side]) / 1_000_000;
        self.start + offset(side) + Duration::from_nanos(shown as u64)
    }

    /// When its clock will show that, or a little later.
    fn global(&self, side: Side, local: Instant) -> Instant {
        let shown = local.saturating_duration_since(self.start + offset(side)).as_nanos() as i128;
        let elapsed = shown * 1_000_000 / (1_000_000 + i128::from(self.setup.skew[side]));
        self.start + Duration::from_nanos(elapsed as u64 + 2)
    }
}

/// The clocks of two hosts have nothing in common.
fn offset(side: Side) -> Duration {
    Duration::from_secs(1000 * side as u64)
}

impl Host {
    fn new(side: Side, setup: &Setup, now: Instant, lives: u64) -> Self {
        let seed = mix(setup.seed, 1000 + side as u64 * 10_000 + lives);
        let mut node = Node::new(seed_bytes(seed));
        let config = connection(side, setup);
        let connection = node.add_connection(now, config).expect("the set-up is right");
        let names: Vec<String> = (0..setup.links.len()).map(name).collect();
        let paths =
            names.iter().map(|name| node.tunnels().find_path(connection, name).unwrap()).collect();
        node.set_identity(now, Some(identity(side)));
        Self {
            node,
            connection,
            session: SessionId(0),
            paths,
            events: Vec::new(),
            path_events: Vec::new(),
            sink: Sink::default(),
            sent: 0,
            refused: 0,
            delivered: Vec::new(),
            running: true,
            lives,
        }
    }

    pub fn path_index(&self, id: PathId) -> usize {
        self.paths.iter().position(|&path| path == id).expect("one of ours")
    }

    /// Takes a path down or up, as its owner does, and says so.
    pub fn set_down(&mut self, now: Instant, path: usize, reason: DownReason, down: bool) {
        let id = self.paths[path];
        self.node.set_path_state(now, id, reason, down);
    }

    pub fn count(&self, is: impl Fn(&Event) -> bool) -> usize {
        self.events.iter().filter(|event| is(event)).count()
    }

    pub fn count_of_paths(&self, is: impl Fn(&PathEvent) -> bool) -> usize {
        self.path_events.iter().filter(|event| is(event)).count()
    }

    /// How often a path became what is told by events.
    pub fn changes(&self, path: usize, state: State) -> usize {
        let id = self.paths[path];
        self.count_of_paths(|event| {
            matches!(*event, PathEvent::State { path, state: now, .. } if path == id && now == state)
        })
    }
}

pub fn identity(side: Side) -> PrivateKey {
    PrivateKey::from_seed(seed_bytes(77 + side as u64))
}

fn name(path: usize) -> String {
    format!("path {path}")
}

/// Where a side is on a path in the beginning.
pub fn address(path: usize, side: Side) -> SocketAddr {
    let ip = IpAddr::V4(Ipv4Addr::new(192, 0, path as u8, 1 + side as u8));
    SocketAddr::new(ip, 4754)
}

fn connection(side: Side, setup: &Setup) -> ConnectionConfig {
    let learn = setup.learn && side == SERVER;
    let path = |index: usize| {
        let remote = address(index, 1 - side);
        PathConfig {
            name: name(index),
            sockets: vec![SocketId(index as u32)],
            local: Some(address(index, side).ip()),
            remote: if learn { Ipv4Addr::UNSPECIFIED.into() } else { remote.ip() },
            remote_port: if learn { 0 } else { remote.port() },
            remote_source_port: None,
            learn,
            weight_out: setup.weights[index],
            weight_in: setup.weights[index],
            tier: 0,
            up: true,
            mtu: 1500,
            entropy: false,
        }
    };
    let mut paths: Vec<PathConfig> = (0..setup.links.len()).map(path).collect();
    if setup.reversed && side == SERVER {
        paths.reverse();
    }
    let network = |side| format!("10.{side}.0.0/16").parse().unwrap();
    ConnectionConfig {
        name: "tunnel".to_owned(),
        device: DeviceId(0),
        selectors: vec![Selector::to(network(1 - side))],
        sources: vec![network(1 - side)],
        key: setup.seed.is_multiple_of(2).then_some(7),
        checksum: false,
        sequence: true,
        direction: Direction::Both,
        mapping: Mapping::Packet,
        reorder: reorder::Config::default(),
        multicast: false,
        copy_dscp: false,
        ecn: ecn::Mode::Normal,
        mtu: None,
        limits_device: true,
        loose: false,
        paths,
    }
}

fn session(side: Side, setup: &Setup, host: &Host) -> SessionConfig {
    let connection = host.node.tunnels().connection(host.connection).unwrap();
    SessionConfig {
        name: "tunnel".to_owned(),
        kind: Kind::Connection,
        peer: identity(1 - side).public(),
        psk: None,
        initiate: side == CLIENT || setup.both_initiate,
        create: false,
        key: None,
        timing: setup.timing,
        largest_wish: 0,
        connection: Some(host.connection),
        paths: connection.paths().map(|path| (0, path)).collect(),
        remote: None,
    }
}

/// UDP from one side to the other: its id at the end.
fn inner(side: Side, id: u64) -> [u8; INNER] {
    let mut packet = [0; INNER];
    packet[..12].copy_from_slice(&[0x45, 0, 0, INNER as u8, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    packet[12..16].copy_from_slice(&[10, side as u8, 0, 1]);
    packet[16..20].copy_from_slice(&[10, 1 - side as u8, 0, 1]);
    packet[20..28].copy_from_slice(&[0x13, 0x88, 0x14, 0x51, 0, 16, 0, 0]);
    packet[28..].copy_from_slice(&id.to_be_bytes());
    packet
}

/// GRE around something.
pub fn datagram(header: gre::Repr, payload: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0; header.header_len()];
    header.emit(&mut datagram);
    datagram.extend_from_slice(payload);
    datagram
}

/// A well mixed function of both (SplitMix64, Steele and others 2014).
pub fn mix(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub fn seed_bytes(seed: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (index, chunk) in (0..).zip(bytes.chunks_mut(8)) {
        chunk.copy_from_slice(&mix(seed, index).to_be_bytes());
    }
    bytes
}
