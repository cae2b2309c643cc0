//! A client that speaks the control protocol and has no tunnel: only requests go over its session.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use mpt_api::session::{SessionReply, SessionRequest};
use mpt_core::liveness::Timing;
use mpt_core::session::{Event, SessionConfig, SessionId};
use mpt_core::{Lent, Node, Nowhere, SocketId, Span, node};
use mpt_wire::control::Kind;
use mpt_wire::ecn::Ecn;

use crate::hosts::{Identity, PATIENCE, Pair};

const SOCKET: SocketId = SocketId(0);

/// A session as a client's, but for the connection.
pub(crate) struct BareClient {
    node: Node<Span>,
    session: SessionId,
    socket: UdpSocket,
    server: SocketAddr,
}

impl BareClient {
    /// On a line of the pair, at `a`. `name`: that of its session.
    pub(crate) fn new(
        pair: &Pair,
        line: u8,
        own: &Identity,
        server: &Identity,
        name: &str,
    ) -> Self {
        let remote: SocketAddr = format!("10.71.{line}.2:4754").parse().unwrap();
        let now = Instant::now();
        let socket = pair.a.udp(&format!("10.71.{line}.1:4754"));
        socket.connect(remote).unwrap();
        let mut node = Node::new([line; 32]);
        node.set_identity(now, Some(own.private.clone()));
        let config = SessionConfig {
            name: name.into(),
            kind: Kind::Connection,
            peer: server.public_key(),
            psk: None,
            initiate: true,
            create: false,
            key: None,
            timing: Timing::default(),
            largest_wish: 0,
            seal: mpt_core::Seal::Off,
            remote: Some((SOCKET, remote)),
        };
        let session = node.add_session(now, config);
        Self { node, session, socket, server: remote }
    }

    /// Waits until there is a session.
    pub(crate) fn establish(&mut self) {
        self.wait(|event| matches!(event, Event::Established { .. }).then_some(()));
    }

    /// Lets the session live until something happens that `find` looks for.
    pub(crate) fn wait<T>(&mut self, mut find: impl FnMut(Event) -> Option<T>) -> T {
        let (start, mut buffer) = (Instant::now(), [0; 2048]);
        loop {
            assert!(start.elapsed() < PATIENCE, "nothing has happened");
            self.node.handle_timeout(Instant::now(), &mut Nowhere);
            while let Some(transmit) = self.node.poll_transmit() {
                self.socket.send(&transmit.to_vec()).unwrap();
            }
            while let Some(event) = self.node.poll_event() {
                if let node::Event::Session(event) = event
                    && let Some(found) = find(event)
                {
                    return found;
                }
            }
            self.socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
            let Ok(len) = self.socket.recv(&mut buffer) else { continue };
            let mut memory = Lent(&mut buffer[..len]);
            let (now, datagram) = (Instant::now(), memory.whole());
            // Data is nothing to it.
            let _ = self.node.handle_datagram(
                now,
                SOCKET,
                self.server,
                Ecn::NotEct,
                datagram,
                &mut memory,
            );
        }
    }

    /// Asks the server, and waits for its answer.
    pub(crate) fn ask(&mut self, request: &SessionRequest) -> SessionReply {
        let asked = self.node.request(Instant::now(), self.session, request.to_body()).unwrap();
        let body = self.wait(|event| match event {
            Event::Result { id, result, .. } if id == asked => Some(result.expect("an answer")),
            _ => None,
        });
        SessionReply::parse(&body).unwrap()
    }
}
