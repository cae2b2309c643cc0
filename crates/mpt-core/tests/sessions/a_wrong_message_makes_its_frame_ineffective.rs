//! A frame under the right keys in which one message is wrong takes no effect at all: not even those
//! messages that stand before it do.

use std::time::{Duration, Instant};

use mpt_core::liveness::Timing;
use mpt_core::session::{Event, Initiation, Peer, PrivateKey, Random, Transport};
use mpt_core::{Node, SocketId, Span, node};
use mpt_wire::control::frame::{self, Frame};
use mpt_wire::control::{Capabilities, Hello, Kind, Message, Name, Reason, Writer};

use super::frames;

/// A daemon, and a peer of it made by hand.
struct Pair {
    node: Node<Span>,
    peer: Transport,
    now: Instant,
}

impl Pair {
    fn new() -> Self {
        #[expect(clippy::disallowed_methods, reason = "any time will do as the first one")]
        let now = Instant::now();
        let (own, peer) = (PrivateKey::from_seed([1; 32]), PrivateKey::from_seed([2; 32]));
        let mut node = Node::new([3; 32]);
        node.set_identity(now, Some(own.clone()));
        let peers = vec![Peer {
            public_key: peer.public(),
            psk: None,
            may_connect: true,
            may_steer: false,
            timing: Timing::default(),
            largest_wish: 0,
            seal: mpt_core::Seal::Off,
            expire_after: Duration::from_secs(300),
            max_sessions: 1,
        }];
        node.set_peers(now, peers);
        let hello = Hello {
            kind: Kind::Connection,
            key: None,
            capabilities: Capabilities::new(),
            name: Name::default(),
            challenge: None,
            sealing: None,
        };
        let mut random = Random::new([4; 32]);
        let mut initiation =
            Initiation::new(&peer, &own.public(), None, 1, &hello, &mut random).unwrap();
        let frame = initiation.frame(1, None);
        frames::receive(&mut node, now, SocketId(0), remote(), &frame);
        let response = frames::of(&node.poll_transmit().expect("an answer"));
        let Ok(Frame::Response(response)) = frame::parse(&response) else { panic!("a response") };
        let (peer, _) = initiation.finish(&response).unwrap();
        Self { node, peer, now }
    }

    /// Seals these bytes, and hands them to the daemon.
    fn send(&mut self, payload: &[u8]) {
        let mut frame = Vec::new();
        self.peer.seal(1, payload, &mut frame).unwrap();
        frames::receive(&mut self.node, self.now, SocketId(0), remote(), &frame);
    }

    fn events(&mut self) -> Vec<node::Event> {
        std::iter::from_fn(|| self.node.poll_event()).collect()
    }

    fn sends(&mut self) -> usize {
        std::iter::from_fn(|| self.node.poll_transmit()).count()
    }
}

fn remote() -> std::net::SocketAddr {
    "192.0.2.1:4754".parse().unwrap()
}

fn row(messages: &[Message<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, 1000);
    for message in messages {
        writer.push(message).unwrap();
    }
    bytes
}

#[test]
fn neither_keys_nor_requests_nor_a_goodbye_take_effect() {
    let probe = row(&[Message::Probe { token: 7 }]);
    let request = row(&[Message::Request { id: 1, offset: 0, body: b"{}" }]);
    let goodbye = row(&[Message::Goodbye { reason: Reason::SHUTTING_DOWN }]);
    // A Probe of the wrong length; a message that is cut off.
    for wrong in [&[1, 0, 7, 0, 0, 0, 0, 0, 0, 0][..], &[2, 0, 8, 0]] {
        let mut pair = Pair::new();
        // Keys are not confirmed by it.
        pair.send(&[&probe[..], wrong].concat());
        assert_eq!((pair.events().len(), pair.sends()), (0, 0));
        pair.send(&probe);
        assert!(matches!(pair.events()[..], [node::Event::Session(Event::Established { .. })]));
        assert!(pair.sends() > 0);
        for good in [&request, &goodbye, &probe] {
            pair.send(&[&good[..], wrong].concat());
            assert_eq!((pair.events().len(), pair.sends()), (0, 0));
        }
        assert_eq!(pair.node.sessions().counters().malformed, 4);
        pair.send(&request);
        assert!(matches!(pair.events()[..], [node::Event::Session(Event::Request { id: 1, .. })]));
        pair.send(&goodbye);
        assert!(matches!(pair.events()[..], [node::Event::Session(Event::Closed { .. })]));
    }
}
