//! One daemon that many connect to, without any delay: for who may have what, and what it costs.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use mpt_core::liveness::Timing;
use mpt_core::node::{self, Destination, Transmit};
use mpt_core::session::{Event, Peer, PrivateKey, PublicKey, SessionConfig, SessionId};
use mpt_core::{
    ConnectionConfig, ConnectionId, DeviceId, Direction, InnerPacket, Mapping, Node, Nowhere,
    PathConfig, PathId, Remote, Selector, SocketId, Span, reorder,
};
use mpt_wire::control::Kind;
use mpt_wire::ecn;
use mpt_wire::ip::Version;

use super::frames;

/// One daemon.
pub struct Daemon {
    pub node: Node<Span>,
    pub events: Vec<Event>,
    pub session: Option<SessionId>,
}

/// The work that a hub with a slow processor does in 5 ms.
#[derive(Clone, Copy)]
pub struct Speed {
    /// Frames that it takes or sends.
    pub frames: usize,
    /// Cost of a frame of a handshake, in frames of any other kind.
    pub handshake: usize,
    /// Frames that its socket holds.
    pub waiting: usize,
}

/// The hub is node 0.
pub struct Hub {
    /// The speed of the hub; without one it is at once ready with everything.
    pub speed: Option<Speed>,
    /// Frames for which the hub's socket had no room.
    pub dropped: usize,
    /// The frames that the hub may still take or send in this step.
    budget: usize,
    /// The frames in its socket.
    inbox: VecDeque<(SocketAddr, SocketId, Vec<u8>)>,
    pub nodes: Vec<Daemon>,
    pub now: Instant,
    /// The processor time that the hub needed, if there is a clock to tell.
    pub spent: Duration,
    pub clock: Option<fn() -> Instant>,
    /// Initiations that came to the hub, once this is switched on.
    pub recorded: Option<Vec<Vec<u8>>>,
    /// Frames that the hub sent, by node.
    pub sent_to: BTreeMap<usize, usize>,
    /// Nothing arrives at this node.
    pub lose: Option<usize>,
    /// The mapping of packets to paths of connections that are created from now on.
    pub mapping: Mapping,
    on_their_way: VecDeque<(usize, SocketAddr, SocketId, SocketAddr, Transmit)>,
}

pub const HUB: usize = 0;

/// Paths of each client.
pub const PATHS: u16 = 2;

pub fn key(node: usize) -> PrivateKey {
    let mut seed = [7; 32];
    seed[..8].copy_from_slice(&(node as u64).to_be_bytes());
    PrivateKey::from_seed(seed)
}

/// Returns the address of a node on its path; the hub has one address only.
fn address(node: usize, path: u16) -> SocketAddr {
    let ip = Ipv4Addr::new(10, (node >> 8) as u8, node as u8, 1);
    let port = if node == HUB { 4754 } else { 5000 + path };
    SocketAddr::new(IpAddr::V4(ip), port)
}

impl Hub {
    pub fn new(clients: usize) -> Self {
        #[expect(clippy::disallowed_methods, reason = "any time will do as the first one")]
        let now = Instant::now();
        let node = |index: usize| {
            let mut seed = [1; 32];
            seed[..8].copy_from_slice(&(index as u64).to_be_bytes());
            let mut node = Node::new(seed);
            node.set_identity(now, Some(key(index)));
            Daemon { node, events: Vec::new(), session: None }
        };
        Self {
            nodes: (0..=clients).map(node).collect(),
            speed: None,
            dropped: 0,
            budget: 0,
            inbox: VecDeque::new(),
            now,
            spent: Duration::ZERO,
            clock: None,
            recorded: None,
            sent_to: BTreeMap::new(),
            lose: None,
            mapping: Mapping::Packet,
            on_their_way: VecDeque::new(),
        }
    }

    /// Sets the peers that the hub allows, and their rights.
    pub fn allow(&mut self, peers: impl Iterator<Item = PublicKey>) {
        let peer = |public_key| Peer {
            public_key,
            psk: None,
            may_connect: true,
            may_steer: false,
            timing: Timing::default(),
            largest_wish: u16::MAX,
            seal: mpt_core::Seal::Off,
            expire_after: Duration::from_secs(300),
            max_sessions: 3,
        };
        self.permit(peers.map(peer).collect());
    }

    /// The same, with everything that may differ.
    pub fn permit(&mut self, peers: Vec<Peer>) {
        self.nodes[HUB].node.set_peers(self.now, peers);
        self.flush(HUB);
    }

    /// The session that the hub has with a client.
    pub fn session_with(&self, client: usize) -> SessionId {
        let sessions = self.nodes[HUB].node.sessions();
        let peer = key(client).public();
        let is = |id: &SessionId| sessions.session(*id).is_some_and(|it| it.peer == peer);
        sessions.sessions().find(is).expect("there is one")
    }

    /// A client with a connection of its own, which asks the hub to create the other end.
    pub fn begin(&mut self, client: usize, name: &str) -> SessionId {
        let (now, peer) = (self.now, key(HUB).public());
        let hub = address(HUB, 0);
        let paths = (0..PATHS).map(|path| path_config(path, path, Some(hub)));
        let daemon = &mut self.nodes[client];
        let config = connection(name, Some(client as u32), client, paths.collect());
        let config = ConnectionConfig { mapping: self.mapping, ..config };
        let connection = daemon.node.add_connection(now, config).unwrap();
        let ids: Vec<PathId> =
            daemon.node.tunnels().connection(connection).unwrap().paths().collect();
        let paths: Vec<_> = (1..).map(Some).zip(ids).collect();
        let config = SessionConfig {
            name: name.into(),
            kind: Kind::Connection,
            peer,
            psk: None,
            initiate: true,
            create: true,
            key: None,
            timing: Timing::default(),
            largest_wish: 0,
            seal: mpt_core::Seal::Off,
            remote: None,
        };
        let session = daemon.node.add_session(now, config);
        daemon.node.attach(now, session, connection, &paths);
        daemon.session = Some(session);
        session
    }

    /// A client that has no connection yet.
    pub fn begin_bare(&mut self, client: usize, name: &str) -> SessionId {
        let config = SessionConfig {
            name: name.into(),
            kind: Kind::Connection,
            peer: key(HUB).public(),
            psk: None,
            initiate: true,
            create: true,
            key: None,
            timing: Timing::default(),
            largest_wish: 0,
            seal: mpt_core::Seal::Off,
            remote: Some((SocketId(0), address(HUB, 0))),
        };
        self.nodes[client].node.add_session(self.now, config)
    }

    /// For messages.
    pub fn describe(&self, node: usize) -> String {
        let all = self.nodes[node].node.sessions();
        let sessions: Vec<_> = all.sessions().filter_map(|id| all.session(id)).collect();
        format!("{sessions:#?}\n{:?}", all.counters())
    }

    /// Does as the hub's owner does when a client asks for a connection: the paths of the client are learnt.
    pub fn create(&mut self, session: SessionId, client: usize, name: &str) -> ConnectionId {
        let now = self.now;
        let daemon = &mut self.nodes[HUB];
        let paths = (0..PATHS).map(|path| path_config(path, 0, None));
        let config = connection(name, Some(client as u32), HUB, paths.collect());
        let config = ConnectionConfig {
            selectors: to(client),
            sources: nets(client),
            mapping: self.mapping,
            ..config
        };
        let connection = daemon.node.add_connection(now, config).unwrap();
        let ids: Vec<PathId> =
            daemon.node.tunnels().connection(connection).unwrap().paths().collect();
        let paths: Vec<_> = (1..).map(Some).zip(ids).collect();
        daemon.node.attach(now, session, connection, &paths);
        connection
    }

    /// Lets time pass in steps of 5 ms; frames take none.
    pub fn run(&mut self, duration: Duration) {
        let until = self.now + duration;
        while self.now < until {
            self.now += Duration::from_millis(5);
            self.budget = self.speed.map_or(usize::MAX, |speed| speed.frames);
            self.serve();
            for node in 0..self.nodes.len() {
                if node == HUB && self.budget == 0 {
                    continue;
                }
                let clock = self.clock.filter(|_| node == HUB).map(|clock| clock());
                let daemon = &mut self.nodes[node];
                while daemon.node.next_timeout().is_some_and(|at| at <= self.now) {
                    daemon.node.handle_timeout(self.now, &mut Nowhere);
                }
                self.stop(clock);
                self.flush(node);
            }
            self.deliver();
        }
    }

    pub fn deliver(&mut self) {
        while let Some((sender, from, socket, to, transmit)) = self.on_their_way.pop_front() {
            let frame = transmit.pieces()[1];
            let [a, b, c, _] = match to.ip() {
                IpAddr::V4(ip) => ip.octets(),
                IpAddr::V6(_) => unreachable!("there is none"),
            };
            // Nobody is elsewhere.
            if a != 10 {
                continue;
            }
            let node = usize::from(b) << 8 | usize::from(c);
            if let Some(recorded) = self.recorded.as_mut().filter(|_| node == HUB && frame[0] == 1)
            {
                recorded.push(frame.to_vec());
            }
            if sender == HUB {
                *self.sent_to.entry(node).or_default() += 1;
            }
            if self.lose == Some(node) {
                continue;
            }
            if let Some(speed) = self.speed.filter(|_| node == HUB) {
                if self.inbox.len() < speed.waiting {
                    self.inbox.push_back((from, socket, frame.to_vec()));
                } else {
                    self.dropped += 1;
                }
                self.nodes[sender].node.recycle(transmit);
                continue;
            }
            let clock = self.clock.filter(|_| node == HUB).map(|clock| clock());
            frames::receive(&mut self.nodes[node].node, self.now, socket, from, frame);
            self.stop(clock);
            self.nodes[sender].node.recycle(transmit);
            self.flush(node);
        }
    }

    /// A slow hub takes what its socket holds, as far as its time goes.
    fn serve(&mut self) {
        let Some(speed) = self.speed else { return };
        while self.budget > 0
            && let Some((from, socket, frame)) = self.inbox.pop_front()
        {
            let cost = if frame[0] == 4 { 1 } else { speed.handshake };
            self.budget = self.budget.saturating_sub(cost);
            frames::receive(&mut self.nodes[HUB].node, self.now, socket, from, &frame);
            self.flush(HUB);
        }
    }

    /// A frame comes to the hub from an address where nobody is.
    pub fn inject(&mut self, frame: &[u8]) {
        let from = "192.0.2.66:5000".parse().unwrap();
        frames::receive(&mut self.nodes[HUB].node, self.now, SocketId(0), from, frame);
        self.flush(HUB);
        self.deliver();
    }

    fn stop(&mut self, started: Option<Instant>) {
        if let (Some(started), Some(clock)) = (started, self.clock) {
            self.spent += clock() - started;
        }
    }

    fn flush(&mut self, index: usize) {
        let daemon = &mut self.nodes[index];
        while daemon.node.poll_path_event().is_some() {}
        while let Some(event) = daemon.node.poll_event() {
            if let node::Event::Session(event) = event {
                daemon.events.push(event);
            }
        }
        while let Some(transmit) = daemon.node.poll_transmit() {
            let (socket, to) = match transmit.destination {
                Destination::Path(id) => {
                    let path = daemon.node.tunnels().path(id).unwrap();
                    (path.config().sockets[0], path.remote().unwrap())
                }
                Destination::Address { socket, remote } => (socket, remote),
                other => panic!("there is no prototype: {other:?}"),
            };
            if index == HUB {
                self.budget = self.budget.saturating_sub(1);
            }
            let from = address(index, socket.0 as u16);
            // The sockets of a client have its ports.
            let socket = SocketId(if index == HUB { u32::from(to.port() - 5000) } else { 0 });
            self.on_their_way.push_back((index, from, socket, to, transmit));
        }
    }

    /// Gives the hub's owner its turn: every request is granted.
    pub fn grant(&mut self) {
        let events = std::mem::take(&mut self.nodes[HUB].events);
        for event in events {
            if let Event::Request { session, id, body } = event {
                let client: Result<usize, _> = std::str::from_utf8(&body).unwrap().parse();
                let client = client.unwrap();
                self.create(session, client, &format!("client {client}"));
                let now = self.now;
                assert!(self.nodes[HUB].node.answer(now, session, id, b"granted".to_vec()));
                self.flush(HUB);
            }
        }
        self.deliver();
    }

    /// Gives the clients' owners their turn.
    pub fn ask(&mut self) {
        let now = self.now;
        for index in 1..self.nodes.len() {
            let daemon = &mut self.nodes[index];
            for event in std::mem::take(&mut daemon.events) {
                match event {
                    Event::Established { session, attached: false, .. } => {
                        let body = index.to_string().into_bytes();
                        daemon.node.request(now, session, body).unwrap();
                    }
                    Event::Established { session, .. } => {
                        daemon.node.open(now, session);
                    }
                    Event::Result { session, result: Ok(result), .. } => {
                        assert_eq!(result, b"granted");
                        daemon.node.open(now, session);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Sends what waits at a node.
    pub fn send(&mut self, node: usize) {
        self.flush(node);
        self.deliver();
    }

    /// A packet is to be sent on all connections of a node.
    pub fn wake(&mut self, node: usize) {
        let now = self.now;
        let daemon = &mut self.nodes[node];
        for id in 0..daemon.node.tunnels().connections().count() {
            let connection = daemon.node.tunnels().connection(ConnectionId::first(id as u32));
            let mut packet = packet(connection.unwrap().config().selectors[0].destination);
            // If no path is up, the packet is dropped, and wakes the session all the same.
            let _ = daemon.node.handle_inner(
                now,
                DeviceId(0),
                InnerPacket::whole(&mut packet).unwrap(),
            );
        }
        self.send(node);
    }

    /// From nothing to connections that are in use.
    pub fn establish(&mut self) {
        for client in 1..self.nodes.len() {
            self.begin(client, "office");
        }
        for _ in 0..100 {
            self.run(Duration::from_millis(10));
            self.ask();
            self.grant();
        }
    }

    pub fn is_up(&self, node: usize) -> bool {
        self.nodes[node].node.tunnels().paths().all(|(_, path)| path.is_up())
    }
}

/// An IPv4 packet to a host of a network.
fn packet(network: ipnet::IpNet) -> [u8; 20] {
    let IpAddr::V4(to) = network.network() else { unreachable!("there is none") };
    let [a, b, c, d] = to.octets();
    [0x45, 0, 0, 20, 0, 0, 0x40, 0, 64, 17, 0, 0, 172, 31, 0, 1, a, b, c, d]
}

fn nets(node: usize) -> Vec<ipnet::IpNet> {
    vec![format!("172.{}.{}.0/24", node >> 8, node & 0xff).parse().unwrap()]
}

fn to(node: usize) -> Vec<Selector> {
    nets(node).into_iter().map(Selector::to).collect()
}

pub fn path_config(path: u16, socket: u16, remote: Option<SocketAddr>) -> PathConfig {
    PathConfig {
        name: format!("path {path}"),
        sockets: vec![SocketId(socket.into())],
        local: None,
        remote: remote.map_or(Remote::Sought(Version::V4), Remote::Fixed),
        remote_source_port: None,
        weight_out: 1,
        weight_in: 1,
        rates: mpt_core::RateBounds::NONE,
        tier: 0,
        up: true,
        mtu: 1500,
        entropy: false,
    }
}

pub fn connection(
    name: &str,
    key: Option<u32>,
    node: usize,
    paths: Vec<PathConfig>,
) -> ConnectionConfig {
    ConnectionConfig {
        name: name.to_owned(),
        device: DeviceId(0),
        selectors: to(1000 + node),
        sources: nets(1000 + node),
        key,
        checksum: false,
        sequence: true,
        direction: Direction::Both,
        mapping: Mapping::Packet,
        repair: mpt_core::Repair::Auto,
        prompt: Vec::new(),
        protect: mpt_core::Protect::default(),
        reorder: reorder::Config::default(),
        multicast: false,
        copy_dscp: false,
        ecn: ecn::Mode::Normal,
        mtu: None,
        limits_device: true,
        seal: mpt_core::Seal::Off,
        loose: false,
        paths,
    }
}
