//! A client deletes its connection and asks for another one in the same session, which goes on meanwhile.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use mpt_api::EventKind;
use mpt_api::session::{Create, PathSpec, SessionReply, SessionRequest, SessionResult};
use mpt_core::control::liveness::Timing;
use mpt_core::control::{Control, Event, SessionConfig, SessionId};
use mpt_core::{Endpoint, Nowhere, SocketId};
use mpt_wire::control::Kind;
use mpt_wire::gre;

use crate::concentrator::{admit, find, server};
use crate::hosts::{Daemon, Identity, PATIENCE, Pair};

const SERVER: &str = "10.71.1.2:4754";
const SOCKET: SocketId = SocketId(0);

/// A session as a client's, but for the connection: only requests go over it.
struct Client {
    control: Control,
    endpoint: Endpoint<()>,
    session: SessionId,
    socket: UdpSocket,
}

impl Client {
    fn new(pair: &Pair, own: &Identity, server: &Identity) -> Self {
        let (now, remote) = (Instant::now(), SERVER.parse::<SocketAddr>().unwrap());
        let socket = pair.a.udp("10.71.1.1:4754");
        socket.connect(remote).unwrap();
        let mut control = Control::new([5; 32]);
        control.set_identity(now, Some(own.private.clone()));
        let config = SessionConfig {
            name: "office".into(),
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
        Self { control, endpoint: Endpoint::new(0), session, socket }
    }

    /// Lets the session live until something happens that `find` looks for.
    fn wait<T>(&mut self, mut find: impl FnMut(Event) -> Option<T>) -> T {
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
                let remote = SERVER.parse().unwrap();
                control.handle_frame(now, SOCKET, remote, frame, endpoint, &mut Nowhere);
            }
        }
    }

    fn ask(&mut self, request: SessionRequest) -> SessionReply {
        let asked = self.control.request(Instant::now(), self.session, request.to_body()).unwrap();
        let body = self.wait(|event| match event {
            Event::Result { id, result, .. } if id == asked => Some(result.expect("an answer")),
            _ => None,
        });
        SessionReply::parse(&body).unwrap()
    }

    fn create(&mut self) {
        let path =
            PathSpec { id: 1, name: "line1".into(), weight: 1, weight_in: 1, tier: 0, mtu: None };
        let create = Create { name: "office".into(), paths: vec![path], ..Create::default() };
        let reply = self.ask(SessionRequest::Create(create));
        assert!(matches!(reply, SessionReply::Ok(SessionResult::Created(_))), "{reply:?}");
    }
}

#[test]
fn in_the_same_session() {
    let pair = Pair::with_lines(1);
    let identities = [Identity::new(), Identity::new()];
    let mut config = server(&identities[1], &["10.71.1.2"]);
    admit(&mut config, "anna", &identities[0]);
    let b = Daemon::start(&pair.b, &config);
    b.wait_until_answering();
    let mut events = b.monitor();
    let mut client = Client::new(&pair, &identities[0], &identities[1]);
    client.wait(|event| matches!(event, Event::Established { .. }).then_some(()));

    client.create();
    assert!(find(&b, "anna.office").is_some());
    let reply = client.ask(SessionRequest::Delete {});
    assert_eq!(reply, SessionReply::Ok(SessionResult::Done));
    assert!(find(&b, "anna.office").is_none());
    client.create();
    assert!(find(&b, "anna.office").is_some());

    let told: Vec<EventKind> = events
        .by_ref()
        .filter(|event| {
            matches!(
                event,
                EventKind::SessionEstablished { .. }
                    | EventKind::SessionLost { .. }
                    | EventKind::ClientAdded { .. }
                    | EventKind::ClientRemoved { .. }
            )
        })
        .take(4)
        .collect();
    assert!(
        matches!(
            told[..],
            [
                EventKind::SessionEstablished { .. },
                EventKind::ClientAdded { .. },
                EventKind::ClientRemoved { .. },
                EventKind::ClientAdded { .. },
            ]
        ),
        "{told:?}"
    );
}
