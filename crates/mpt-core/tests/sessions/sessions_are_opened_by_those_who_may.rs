//! Connections created on demand: who may have one, what it takes, and how it ends.

use std::time::Duration;

use mpt_core::session::{CloseReason, Event, Limits};
use mpt_wire::control::Reason;

use super::hub::*;

const SECOND: Duration = Duration::from_secs(1);

fn hub(clients: usize) -> Hub {
    let mut hub = Hub::new(clients);
    hub.allow((1..=clients).map(|client| key(client).public()));
    hub
}

fn closed(hub: &Hub, node: usize) -> Vec<CloseReason> {
    let reasons = hub.nodes[node].events.iter().filter_map(|event| match event {
        Event::Closed { reason, .. } => Some(*reason),
        _ => None,
    });
    reasons.collect()
}

#[test]
fn many_at_once() {
    let mut hub = hub(20);
    hub.establish();
    for node in 0..=20 {
        assert!(hub.is_up(node), "node {node}: {:?}", hub.nodes[node].node.sessions().counters());
    }
    assert_eq!(hub.nodes[HUB].node.sessions().sessions().count(), 20);
    assert_eq!(hub.nodes[HUB].node.tunnels().paths().count(), 20 * usize::from(PATHS));
}

#[test]
fn nothing_is_used_before_it_was_granted() {
    let mut hub = hub(1);
    hub.begin(1, "office");
    hub.run(3 * SECOND);
    assert!(hub.nodes[1].node.tunnels().paths().all(|(_, path)| !path.is_up()));
    let asked = |event: &Event| matches!(event, Event::Established { name, attached: false, .. } if name == "office");
    assert_eq!(hub.nodes[HUB].events.iter().filter(|event| asked(event)).count(), 1);
    assert_eq!(hub.nodes[1].events.iter().filter(|event| asked(event)).count(), 1);
}

#[test]
fn strangers_get_none() {
    let mut hub = hub(2);
    hub.allow([key(1).public()].into_iter());
    hub.establish();
    assert!(hub.is_up(1));
    assert!(!hub.is_up(2));
    assert!(hub.nodes[HUB].node.sessions().counters().unknown_peer > 0);
    assert_eq!(hub.nodes[HUB].node.sessions().sessions().count(), 1);
}

#[test]
fn one_that_gets_no_connection_is_dropped() {
    let mut hub = hub(1);
    hub.begin(1, "office");
    hub.run(9 * SECOND);
    assert_eq!(hub.nodes[HUB].node.sessions().sessions().count(), 1);
    hub.run(2 * SECOND);
    assert_eq!(closed(&hub, HUB), [CloseReason::NotAttached]);
    assert_eq!(closed(&hub, 1), [CloseReason::Goodbye(Reason::REFUSED)]);
}

#[test]
fn one_peer_has_only_so_many() {
    let mut hub = hub(1);
    for n in 0..5 {
        hub.begin_bare(1, &format!("office {n}"));
    }
    hub.run(SECOND);
    assert_eq!(hub.nodes[HUB].node.sessions().sessions().count(), 3);
    assert!(hub.nodes[HUB].node.sessions().counters().unknown_peer > 0);
}

#[test]
fn all_together_have_only_so_many() {
    let mut hub = hub(4);
    hub.nodes[HUB].node.set_limits(Limits { sessions: 2, ..Limits::default() });
    hub.establish();
    assert_eq!(hub.nodes[HUB].node.sessions().sessions().count(), 2);
    assert_eq!((1..=4).filter(|&node| hub.is_up(node)).count(), 2);
}

/// A client may give its connection back and ask for another one in the same session.
#[test]
fn one_whose_connection_was_taken_away_has_time_for_another() {
    let mut hub = hub(1);
    hub.establish();
    hub.run(20 * SECOND);
    let session = hub.nodes[HUB].node.sessions().sessions().next();
    let session = session.expect("it has been established");
    let now = hub.now;
    let connection = hub.nodes[HUB].node.sessions().session(session).and_then(|it| it.connection);
    let connection = connection.expect("it has one");
    hub.nodes[HUB].node.remove_connection(now, connection, &mut mpt_core::Nowhere);
    hub.nodes[HUB].events.clear();
    hub.run(9 * SECOND);
    assert_eq!(closed(&hub, HUB), []);
    hub.run(2 * SECOND);
    assert_eq!(closed(&hub, HUB), [CloseReason::NotAttached]);
}

const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn a_client_that_leaves_takes_its_session_with_it() {
    let mut hub = hub(2);
    hub.establish();
    let now = hub.now;
    hub.nodes[1].node.close_all(now);
    hub.nodes[1].node.set_identity(now, None);
    hub.nodes[HUB].events.clear();
    // Its goodbye is among what waits to be sent.
    hub.send(1);
    hub.run(SECOND);
    assert_eq!(closed(&hub, HUB), [CloseReason::Goodbye(Reason::SHUTTING_DOWN)]);
    assert_eq!(hub.nodes[HUB].node.sessions().sessions().count(), 1);
    assert!(hub.is_up(2));
}

#[test]
fn one_that_is_silent_for_long_has_expired() {
    let mut hub = hub(2);
    hub.establish();
    hub.nodes[1].node = mpt_core::Node::new([9; 32]);
    hub.nodes[HUB].events.clear();
    hub.run(400 * SECOND);
    let expired = |event: &Event| matches!(event, Event::Expired { .. });
    let ended = hub.nodes[HUB].events.iter().filter(|event| expired(event)).count()
        + closed(&hub, HUB).len();
    assert!(ended >= 1, "{:?}", hub.nodes[HUB].events);
    assert!(hub.is_up(2));
}

/// The hub has forgotten the connection: the client asks for it once more.
#[test]
fn after_the_hub_has_begun_anew_it_is_created_again() {
    let mut hub = hub(3);
    hub.establish();
    hub.nodes[HUB] = Hub::new(0).nodes.remove(0);
    hub.nodes[HUB].node = mpt_core::Node::new([99; 32]);
    let now = hub.now;
    hub.nodes[HUB].node.set_identity(now, Some(key(HUB)));
    hub.allow((1..=3).map(|client| key(client).public()));
    for _ in 0..300 {
        // With traffic, which finds out soon.
        for node in 1..=3 {
            hub.wake(node);
        }
        hub.run(millis(10));
        hub.ask();
        hub.grant();
    }
    for node in 0..=3 {
        assert!(hub.is_up(node), "node {node}: {}", hub.describe(node));
    }
}
