//! A client that speaks the control protocol and has no tunnel: only requests go over its session.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use mpt_api::session::{SessionReply, SessionRequest};
use mpt_core::control::liveness::Timing;
use mpt_core::control::{Control, Event, SessionConfig, SessionId};
use mpt_core::{Endpoint, Nowhere, SocketId};
use mpt_wire::control::Kind;
use mpt_wire::gre;

use crate::hosts::{Identity, PATIENCE, Pair};

const SOCKET: SocketId = SocketId(0);

/// A session as a client's, but for the connection.
pub(crate) struct BareClient {
    control: Control,
    endpoint: Endpoint<()>,
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
        let mut control = Control::new([line; 32]);
        control.set_identity(now, Some(own.private.clone()));
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
            connection: None,
            paths: Vec::new(),
            remote: Some((SOCKET, remote)),
        };
        let session = control.add_session(now, config);
        Self { control, endpoint: Endpoint::new(0), session, socket, server: remote }
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
            self.control.handle_timeout(Instant::now(), &mut self.endpoint, &mut Nowhere);
            while let Some(transmit) = self.control.poll_transmit() {
                let protocol = gre::Protocol::CONTROL;
                let header =
                    gre::Repr { protocol, checksum: false, key: transmit.key, sequence: None };
                let mut datagram = vec![0; header.header_len()];
                header.emit(&mut datagram);
                datagram.extend_from_slice(&transmit.frame);
                self.socket.send(&datagram).unwrap();
            }
            while let Some(event) = self.control.poll_event() {
                if let Some(found) = find(event) {
                    return found;
                }
            }
            self.socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
            let Ok(len) = self.socket.recv(&mut buffer) else { continue };
            let (header, at) = gre::Repr::parse(&buffer[..len]).unwrap();
            if header.protocol == gre::Protocol::CONTROL {
                let (control, endpoint) = (&mut self.control, &mut self.endpoint);
                let (now, frame) = (Instant::now(), &buffer[at..len]);
                control.handle_frame(now, SOCKET, self.server, frame, endpoint, &mut Nowhere);
            }
        }
    }

    /// Asks the server, and waits for its answer.
    pub(crate) fn ask(&mut self, request: &SessionRequest) -> SessionReply {
        let asked = self.control.request(Instant::now(), self.session, request.to_body()).unwrap();
        let body = self.wait(|event| match event {
            Event::Result { id, result, .. } if id == asked => Some(result.expect("an answer")),
            _ => None,
        });
        SessionReply::parse(&body).unwrap()
    }
}
