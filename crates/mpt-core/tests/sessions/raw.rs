//! A daemon that many may ask, and peers with valid keys that send whatever they like: every frame
//! is of their own making.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mpt_core::liveness::Timing;
use mpt_core::node::{self, Destination};
use mpt_core::session::{
    Event, Initiation, Peer, PresharedKey, PrivateKey, Random, SessionId, Transport,
};
use mpt_core::{ConnectionConfig, Mapping, Node, Nowhere, SocketId, Span};
use mpt_wire::control::frame::{self, MAX_PAYLOAD_LEN};
use mpt_wire::control::hello::{Capabilities, Hello, Kind, Name, Welcome};
use mpt_wire::control::{Message, Writer, messages};

use super::frames;
use super::hub::{connection, key, path_config};

/// The daemon: it has no connections of its own.
pub struct Server {
    pub node: Node<Span>,
    pub now: Instant,
    /// The mapping of packets to paths of connections that are created from now on.
    pub mapping: Mapping,
}

/// The key of the daemon is that of node 0.
const SERVER: usize = 0;
/// Sessions that one key may have.
pub const SESSIONS: usize = 4;

impl Server {
    /// The keys of nodes 1 to `peers` may connect and steer.
    pub fn new(peers: usize) -> Self {
        #[expect(clippy::disallowed_methods, reason = "any time will do as the first one")]
        let now = Instant::now();
        let mut node = Node::new([3; 32]);
        node.set_identity(now, Some(key(SERVER)));
        let peer = |node| Peer {
            public_key: key(node).public(),
            psk: None,
            may_connect: true,
            may_steer: true,
            timing: Timing::default(),
            largest_wish: u16::MAX,
            seal: mpt_core::Seal::Off,
            expire_after: Duration::from_secs(300),
            max_sessions: SESSIONS,
        };
        node.set_peers(now, (1..=peers).map(peer).collect());
        Self { node, now, mapping: Mapping::Packet }
    }

    /// A frame arrives; gives what is sent in return, with its destination.
    pub fn handle(&mut self, from: SocketAddr, frame: &[u8]) -> Vec<(SocketAddr, Vec<u8>)> {
        frames::receive(&mut self.node, self.now, SocketId(0), from, frame);
        self.sent()
    }

    /// The same of a datagram of data.
    pub fn handle_data(&mut self, from: SocketAddr, datagram: &[u8]) -> Vec<(SocketAddr, Vec<u8>)> {
        frames::receive_datagram(&mut self.node, self.now, SocketId(0), from, datagram);
        self.sent()
    }

    /// Lets time pass in steps of at most a millisecond; gives what is sent meanwhile.
    pub fn wait(&mut self, time: Duration) -> Vec<(SocketAddr, Vec<u8>)> {
        let until = self.now + time;
        let mut sent = Vec::new();
        while self.now < until {
            self.now = (self.now + Duration::from_millis(1)).min(until);
            if self.node.next_timeout().is_some_and(|at| at <= self.now) {
                self.node.handle_timeout(self.now, &mut Nowhere);
                sent.extend(self.sent());
            }
        }
        sent
    }

    /// Answers a request.
    pub fn answer(
        &mut self,
        session: SessionId,
        id: u32,
        body: Vec<u8>,
    ) -> Vec<(SocketAddr, Vec<u8>)> {
        assert!(self.node.answer(self.now, session, id, body));
        self.sent()
    }

    /// The next thing that happened to a session.
    pub fn next_event(&mut self) -> Option<Event> {
        match self.node.poll_event()? {
            node::Event::Session(event) => Some(event),
            node::Event::Prototype(event) => panic!("there is no prototype: {event:?}"),
        }
    }

    /// The next request that the owner is to work on.
    pub fn next_request(&mut self) -> Option<(SessionId, u32, Vec<u8>)> {
        while let Some(event) = self.next_event() {
            if let Event::Request { session, id, body } = event {
                return Some((session, id, body));
            }
        }
        None
    }

    /// Creates the connection of a session, with so many paths that are learnt.
    pub fn attach(&mut self, session: SessionId, paths: u16) {
        if self.node.sessions().session(session).is_none_or(|view| view.connection.is_some()) {
            return;
        }
        let paths = (0..paths).map(|path| path_config(path, 0, None));
        let config = connection("connection", Some(1), 1, paths.collect());
        let config = ConnectionConfig { mapping: self.mapping, ..config };
        let now = self.now;
        let Ok(connection) = self.node.add_connection(now, config) else { return };
        let ids: Vec<_> = self.node.tunnels().connection(connection).unwrap().paths().collect();
        let paths: Vec<_> = (1..).map(Some).zip(ids).collect();
        self.node.attach(now, session, connection, &paths);
    }

    fn sent(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut sent = Vec::new();
        while let Some(transmit) = self.node.poll_transmit() {
            let to = match transmit.destination {
                // A path may have none that another one has just taken the address of.
                Destination::Path(id) => self.node.tunnels().path(id).expect("a path").remote(),
                Destination::Address { remote, .. } => Some(remote),
                other => panic!("there is no prototype: {other:?}"),
            };
            sent.extend(to.map(|to| (to, frames::of(&transmit))));
        }
        sent
    }
}

/// A peer with keys.
pub struct Raw {
    transport: Transport,
    /// The Welcome with which the daemon accepted.
    pub welcome: Welcome,
    /// The address of the peer.
    pub address: SocketAddr,
}

impl Raw {
    /// Agrees on keys as node `node`, for a session of that name, from `address`. Nothing has been
    /// sent under them.
    pub fn connect(
        server: &mut Server,
        node: usize,
        kind: Kind,
        name: &str,
        address: &str,
    ) -> Self {
        Self::try_connect(server, node, None, kind, name, address).expect("it is answered")
    }

    /// The same with a pre-shared key; `None` if the daemon is silent, or answers with another one.
    pub fn try_connect(
        server: &mut Server,
        node: usize,
        psk: Option<&PresharedKey>,
        kind: Kind,
        name: &str,
        address: &str,
    ) -> Option<Self> {
        let address = address.parse().unwrap();
        let own: PrivateKey = key(node);
        let seed = fastrand_like(node, name, server.now);
        let mut random = Random::new(seed);
        let mut hello = Hello {
            kind,
            key: None,
            capabilities: Capabilities::new(),
            name: Name::new(name).unwrap(),
            challenge: None,
            sealing: None,
        };
        let peer = key(SERVER).public();
        // If another session of the peer is not confirmed, the server demands a challenge first.
        let (transport, welcome) = loop {
            let index = random.u32();
            let initiation = Initiation::new(&own, &peer, psk, index, &hello, &mut random);
            let mut initiation = initiation.unwrap();
            let sent = server.handle(address, &initiation.frame(1, None));
            let [(to, answer)] = &sent[..] else {
                assert!(sent.is_empty(), "{} answers", sent.len());
                return None;
            };
            assert_eq!(*to, address);
            match frame::parse(answer) {
                Ok(frame::Frame::Response(response)) => {
                    break initiation.finish(&response).ok()?;
                }
                Ok(frame::Frame::Cookie(cookie)) if hello.challenge.is_none() => {
                    hello.challenge = Some(initiation.open_cookie(&cookie).unwrap().challenge());
                }
                other => panic!("no response: {other:?}"),
            }
        };
        Some(Self { transport, welcome, address })
    }

    /// A frame with these messages.
    pub fn frame(&mut self, messages: &[Message<'_>]) -> Vec<u8> {
        let mut payload = Vec::new();
        let mut writer = Writer::new(&mut payload, MAX_PAYLOAD_LEN);
        for message in messages {
            writer.push(message).expect("there is room");
        }
        self.seal(&payload)
    }

    /// A frame with this payload.
    pub fn seal(&mut self, payload: &[u8]) -> Vec<u8> {
        self.seal_on(1, payload)
    }

    /// The same on a path.
    pub fn seal_on(&mut self, path: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        self.transport.seal(path, payload, &mut frame).unwrap();
        frame
    }

    /// The messages of a frame for this peer, if it is one.
    pub fn open(&mut self, frame: &[u8]) -> Option<Vec<u8>> {
        let Ok(frame::Frame::Sealed(sealed)) = frame::parse(frame) else { return None };
        let mut buffer = vec![0; MAX_PAYLOAD_LEN];
        let opened = self.transport.open(&sealed, &mut buffer).ok()?;
        Some(opened.payload.to_vec())
    }

    /// Has its address proved.
    pub fn prove(&mut self, server: &mut Server) {
        let answered = self.send(server, &[request(0)]);
        let token = self.challenge(&answered);
        self.send(server, &[Message::Echo { token }]);
        while let Some((session, id, _)) = server.next_request() {
            server.answer(session, id, Vec::new());
        }
    }

    /// The token of the challenge among frames that were sent.
    pub fn challenge(&mut self, frames: &[(SocketAddr, Vec<u8>)]) -> u64 {
        self.tokens(frames).pop().expect("a challenge")
    }

    /// The tokens of the probes among frames that were sent to its address.
    pub fn tokens(&mut self, frames: &[(SocketAddr, Vec<u8>)]) -> Vec<u64> {
        let own = frames.iter().filter(|(to, _)| *to == self.address);
        let own: Vec<_> = own.map(|(_, frame)| frame).collect();
        let mut tokens = Vec::new();
        for payload in own.into_iter().filter_map(|frame| self.open(frame)) {
            tokens.extend(messages(&payload).filter_map(|message| match message {
                Ok(Message::Probe { token }) => Some(token),
                _ => None,
            }));
        }
        tokens
    }

    /// Sends messages from its address.
    pub fn send(
        &mut self,
        server: &mut Server,
        messages: &[Message<'_>],
    ) -> Vec<(SocketAddr, Vec<u8>)> {
        let frame = self.frame(messages);
        server.handle(self.address, &frame)
    }
}

/// A request.
fn request(id: u32) -> Message<'static> {
    Message::Request { id, offset: 0, body: b"do" }
}

/// Another seed for every handshake.
fn fastrand_like(node: usize, name: &str, now: Instant) -> [u8; 32] {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (node, name, now).hash(&mut hasher);
    super::network::seed_bytes(hasher.finish())
}
