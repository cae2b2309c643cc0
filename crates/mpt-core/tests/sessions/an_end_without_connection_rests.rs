//! A session that steers has no connection, and so nothing to tell its peer of paths: once it is established its timers are the
//! seldom ones of its keys.

use std::time::Duration;

use mpt_core::liveness::Timing;
use mpt_core::session::{Peer, SessionConfig};
use mpt_core::{Nowhere, SocketId};
use mpt_wire::control::Kind;

use super::hub::{HUB, Hub, key};

const CLIENT: usize = 1;

#[test]
fn the_timers_of_both_ends_of_a_steering_session_are_few() {
    let mut hub = Hub::new(1);
    hub.permit(vec![Peer {
        public_key: key(CLIENT).public(),
        psk: None,
        may_connect: false,
        may_steer: true,
        timing: Timing::default(),
        largest_wish: 0,
        seal: mpt_core::Seal::Off,
        expire_after: Duration::from_secs(300),
        max_sessions: 1,
    }]);
    let config = SessionConfig {
        name: "steering".into(),
        kind: Kind::Steering,
        peer: key(HUB).public(),
        psk: None,
        initiate: true,
        create: false,
        key: None,
        timing: Timing::default(),
        largest_wish: 0,
        seal: mpt_core::Seal::Off,
        remote: Some((SocketId(0), "10.0.0.1:4754".parse().unwrap())),
    };
    let session = hub.nodes[CLIENT].node.add_session(hub.now, config);
    hub.run(Duration::from_secs(2));
    let view = hub.nodes[CLIENT].node.sessions().session(session).unwrap();
    assert!(view.established.is_some(), "{}", hub.describe(CLIENT));

    for node in [CLIENT, HUB] {
        let (mut served, until) = (0, hub.now + Duration::from_secs(20));
        let mut now = hub.now;
        let node = &mut hub.nodes[node].node;
        while let Some(at) = node.next_timeout().filter(|&at| at <= until) {
            now = now.max(at);
            node.handle_timeout(now, &mut Nowhere);
            served += 1;
            assert!(served <= 20, "many timers in {:?}", now - hub.now);
            assert!(node.poll_transmit().is_none(), "there is nothing to say");
        }
    }
}
