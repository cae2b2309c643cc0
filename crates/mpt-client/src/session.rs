//! One session without a connection: a socket, and the control protocol driven by whoever waits for something.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use mpt_core::liveness::Timing;
use mpt_core::session::{Event, RequestRefused, SessionConfig, SessionId};
use mpt_core::{Lent, Node, Nowhere, SocketId, Span, node};
use mpt_wire::control::Kind;
use mpt_wire::ecn::Ecn;
use nix::sys::socket::{setsockopt, sockopt};

use crate::Target;

/// The only socket.
const SOCKET: SocketId = SocketId(0);
/// Size of the buffer for a datagram, in bytes. The control protocol has at most 1,200 bytes and a GRE header.
const DATAGRAM: usize = 2048;
/// The shortest time that a socket can wait.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// The reason why there is no session or no result.
#[derive(Debug)]
pub(crate) enum Lost {
    /// A socket or random numbers could not be had.
    Socket(io::Error),
    /// The daemon did not agree on keys in time.
    NoKeys {
        /// The last error of the network.
        trouble: Option<io::Error>,
        /// True if the daemon answered, but with nothing that can be opened.
        disagree: bool,
    },
    /// The request does not fit a session.
    TooLong(String),
    /// The daemon said goodbye.
    Ended,
    /// No result came in time.
    Unanswered {
        /// The last error of the network.
        trouble: Option<io::Error>,
    },
}

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    socket: UdpSocket,
    address: SocketAddr,
    /// The node, which has no connections: nothing but the session goes on here.
    node: Node<Span>,
    id: SessionId,
    buffer: Box<[u8; DATAGRAM]>,
    /// The last error of the network. It is not authentic, so it only explains why nothing came.
    trouble: Option<io::Error>,
}

impl Session {
    /// Agrees on keys with a daemon, for a session of this kind; over this interface only, if one is named.
    pub(crate) fn establish(
        target: &Target,
        kind: Kind,
        interface: Option<&str>,
        until: Instant,
    ) -> Result<Self, Lost> {
        let Target { address, peer, identity, psk, name } = target;
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(any).map_err(Lost::Socket)?;
        if let Some(interface) = interface {
            let bound = setsockopt(&socket, sockopt::BindToDevice, &interface.into());
            bound.map_err(|error| Lost::Socket(error.into()))?;
        }
        socket.connect(address).map_err(Lost::Socket)?;
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| Lost::Socket(io::Error::other(error)))?;
        let mut node = Node::new(seed);
        let now = Instant::now();
        node.set_identity(now, Some(identity.clone()));
        let config = SessionConfig {
            name: name.clone(),
            kind,
            peer: *peer,
            psk: psk.clone(),
            initiate: true,
            create: false,
            key: None,
            timing: Timing::default(),
            largest_wish: 0,
            seal: mpt_core::Seal::Off,
            remote: Some((SOCKET, *address)),
        };
        let id = node.add_session(now, config);
        let buffer = Box::new([0; DATAGRAM]);
        let mut session = Self { socket, address: *address, node, id, buffer, trouble: None };
        loop {
            match session.wait(until) {
                Some(Event::Established { .. }) => {
                    session.trouble = None;
                    return Ok(session);
                }
                Some(_) => {}
                None => {
                    let disagree = session.node.sessions().counters().handshake_failed > 0;
                    return Err(Lost::NoKeys { trouble: session.trouble.take(), disagree });
                }
            }
        }
    }

    /// True if the daemon has not said goodbye meanwhile.
    pub(crate) fn is_open(&mut self) -> bool {
        if self.socket.set_nonblocking(true).is_err() {
            return false;
        }
        while let Ok(len) = self.socket.recv(&mut self.buffer[..]) {
            self.take(len);
        }
        let mut closed = self.socket.set_nonblocking(false).is_err();
        while let Some(event) = self.next_event() {
            closed |= matches!(event, Event::Closed { .. });
        }
        self.send();
        !closed
    }

    /// Asks, and waits for the result.
    pub(crate) fn request(&mut self, body: Vec<u8>, until: Instant) -> Result<Vec<u8>, Lost> {
        let len = body.len();
        let asked = self.node.request(Instant::now(), self.id, body);
        let asked = asked.map_err(|refused| match refused {
            RequestRefused::NoSession => Lost::Ended,
            RequestRefused::Refused(why) => {
                Lost::TooLong(format!("{why}: it has {len}, so ask on the control socket there"))
            }
        })?;
        loop {
            match self.wait(until) {
                Some(Event::Result { id, result, .. }) if id == asked => {
                    return result.map_err(|_| Lost::Unanswered { trouble: self.trouble.take() });
                }
                Some(Event::Closed { .. }) => return Err(Lost::Ended),
                Some(_) => {}
                None => return Err(Lost::Unanswered { trouble: self.trouble.take() }),
            }
        }
    }

    /// Lets the session live until something happens, or until then.
    fn wait(&mut self, until: Instant) -> Option<Event> {
        loop {
            self.send();
            if let Some(event) = self.next_event() {
                return Some(event);
            }
            let now = Instant::now();
            let due = self.node.next_timeout().map_or(until, |at| at.min(until));
            if due <= now {
                if until <= now {
                    return None;
                }
                self.node.handle_timeout(now, &mut Nowhere);
                continue;
            }
            let wait = (due - now).max(SHORTEST_WAIT);
            let received = self
                .socket
                .set_read_timeout(Some(wait))
                .and_then(|()| self.socket.recv(&mut self.buffer[..]));
            match received {
                Ok(len) => self.take(len),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                    _ => self.trouble = Some(error),
                },
            }
        }
    }

    /// A datagram has come, from the daemon's address: the socket is connected.
    fn take(&mut self, len: usize) {
        let mut memory = Lent(&mut self.buffer[..len]);
        let datagram = memory.whole();
        let (now, ecn) = (Instant::now(), Ecn::NotEct);
        // A datagram that is no frame of the session is dropped and counted.
        let _ = self.node.handle_datagram(now, SOCKET, self.address, ecn, datagram, &mut memory);
    }

    /// Returns what has happened to the session.
    fn next_event(&mut self) -> Option<Event> {
        while let Some(event) = self.node.poll_event() {
            if let node::Event::Session(event) = event {
                return Some(event);
            }
        }
        None
    }

    /// Sends what there is to send. A datagram that cannot be sent is lost, as on the way: all that matters is repeated.
    fn send(&mut self) {
        while let Some(transmit) = self.node.poll_transmit() {
            if let Err(error) = self.socket.send(&transmit.to_vec()) {
                self.trouble = Some(error);
            }
            self.node.recycle(transmit);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.node.close_all(Instant::now());
        self.send();
    }
}
