//! A peer that the list of peers no longer has, or has otherwise, loses its sessions at once and gets none again.

use std::time::Duration;

use mpt_core::liveness::Timing;
use mpt_core::session::{CloseReason, Event, Peer, PresharedKey};
use mpt_wire::control::Reason;

use super::hub::*;

const SECOND: Duration = Duration::from_secs(1);

/// Returns the rights of a client at the hub, unless a test says otherwise.
fn peer(client: usize) -> Peer {
    Peer {
        public_key: key(client).public(),
        psk: None,
        may_connect: true,
        may_steer: false,
        timing: Timing::default(),
        largest_wish: u16::MAX,
        seal: mpt_core::Seal::Off,
        expire_after: Duration::from_secs(300),
        max_sessions: 3,
    }
}

/// Two clients with sessions, of which the hub then sees the first one otherwise. The second one notices nothing.
fn ends_for_the_first(changed: Option<Peer>) {
    // An initiation is answered before it is known that the pre-shared keys differ.
    let is_known = changed.as_ref().is_some_and(|peer| peer.may_connect);
    let mut hub = Hub::new(2);
    hub.permit([1, 2].map(peer).into());
    hub.establish();
    assert!(hub.is_up(1) && hub.is_up(2));
    let of_second = hub.session_with(2);
    hub.nodes.iter_mut().for_each(|node| node.events.clear());

    hub.permit(changed.into_iter().chain([peer(2)]).collect());
    hub.send(HUB);
    let control = hub.nodes[HUB].node.sessions();
    let left = control
        .sessions()
        .filter_map(|id| control.session(id))
        .filter(|it| it.peer == key(1).public());
    assert_eq!(left.count(), 0, "no session is left, before any time has passed");
    assert!(!hub.is_up(1), "the client knows by the goodbye that nothing works");
    let refused = |event: &Event| {
        matches!(event, Event::Closed { reason: CloseReason::Goodbye(Reason::REFUSED), .. })
    };
    assert_eq!(hub.nodes[1].events.iter().filter(|it| refused(it)).count(), 1);
    let handshakes = hub.nodes[HUB].node.sessions().counters().handshakes;
    hub.sent_to.clear();
    // Longer than keys live and are renewed after.
    hub.run(400 * SECOND);
    if !is_known {
        assert_eq!(hub.sent_to.get(&1), None, "frames from the hub to the revoked client");
    }
    assert!(!hub.is_up(1));
    assert!(hub.is_up(2));
    assert_eq!(hub.session_with(2), of_second, "the other session went on");
    let since = hub.nodes[HUB].node.sessions().counters().handshakes - handshakes;
    assert!((2..=5).contains(&since), "renewed with the other one only: {since}");
}

#[test]
fn when_it_is_removed() {
    ends_for_the_first(None);
}

#[test]
fn when_its_pre_shared_key_is_another_one() {
    ends_for_the_first(Some(Peer { psk: Some(PresharedKey::from_seed([3; 32])), ..peer(1) }));
}

#[test]
fn when_it_may_no_longer_connect() {
    ends_for_the_first(Some(Peer { may_connect: false, may_steer: true, ..peer(1) }));
}

/// A handshake that was half done when the peer was revoked leads to nothing.
#[test]
fn when_its_keys_are_not_confirmed_yet() {
    let mut hub = Hub::new(1);
    hub.permit(vec![peer(1)]);
    hub.begin(1, "office");
    // The initiation arrives and is answered; the answer is lost.
    hub.lose = Some(1);
    hub.run(Duration::from_millis(20));
    hub.lose = None;
    assert_eq!(hub.nodes[HUB].node.sessions().sessions().count(), 1);
    hub.permit(Vec::new());
    assert_eq!(hub.nodes[HUB].node.sessions().sessions().count(), 0);
    hub.run(20 * SECOND);
    assert_eq!(hub.nodes[HUB].node.sessions().counters().handshakes, 0);
    assert!(!hub.nodes[HUB].events.iter().any(|it| matches!(it, Event::Established { .. })));
}

/// A right that can be narrowed in place is narrowed: the session goes on with other timers.
#[test]
fn but_one_with_other_timers_goes_on() {
    let mut hub = Hub::new(1);
    hub.permit(vec![peer(1)]);
    hub.establish();
    let session = hub.session_with(1);
    let timing = Timing { keepalive: SECOND, idle: 2 * SECOND, dead: Some(7 * SECOND) };
    hub.permit(vec![Peer { timing, ..peer(1) }]);
    hub.run(SECOND);
    assert_eq!(hub.session_with(1), session);
    let control = hub.nodes[HUB].node.sessions();
    let view = control.session(session).unwrap();
    assert!(view.paths.iter().all(|path| path.dead_after == 7 * SECOND), "{view:#?}");
}

/// A smaller limit of weights holds for the paths that are in use.
#[test]
fn but_one_with_a_smaller_limit_of_weights_goes_on_within_it() {
    let mut hub = Hub::new(1);
    hub.permit(vec![peer(1)]);
    hub.establish();
    let now = hub.now;
    let node = &mut hub.nodes[HUB].node;
    let ids: Vec<_> = node.tunnels().paths().map(|(id, _)| id).collect();
    for &id in &ids {
        node.set_weights(now, id, 500, 500).unwrap();
    }
    hub.permit(vec![Peer { largest_wish: 5, ..peer(1) }]);
    let endpoint = hub.nodes[HUB].node.tunnels();
    for id in ids {
        assert_eq!(endpoint.path(id).unwrap().config().weight_out, 5);
    }
}

/// Two clients may call their connections alike: each has its own.
#[test]
fn sessions_are_told_apart_by_keys_not_by_names() {
    let mut hub = Hub::new(2);
    hub.permit([1, 2].map(peer).into());
    hub.establish();
    let of_first = hub.session_with(1);
    assert_ne!(of_first, hub.session_with(2));
    // The second one begins anew under the same name.
    hub.nodes[2] = Hub::new(2).nodes.remove(2);
    hub.begin(2, "office");
    hub.run(5 * SECOND);
    assert_eq!(hub.session_with(1), of_first);
    assert!(hub.is_up(1));
}
