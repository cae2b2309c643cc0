//! Recorded initiations, under however many names and of however many clients, take the room of no
//! genuine session: neither of those that a client may have nor of those that the daemon takes.

use std::time::Duration;

use mpt_core::session::Limits;

use super::hub::*;

const SECOND: Duration = Duration::from_secs(1);

fn hub(clients: usize) -> Hub {
    let mut hub = Hub::new(clients);
    hub.allow((1..=clients).map(|client| key(client).public()));
    hub
}

/// Records initiations of each of the clients for connections of these names.
fn record(clients: usize, names: &[&str]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for name in names {
        let mut hub = hub(clients);
        hub.recorded = Some(Vec::new());
        for client in 1..=clients {
            hub.begin_bare(client, name);
        }
        hub.run(SECOND / 10);
        all.extend(hub.recorded.unwrap());
    }
    assert!(all.len() >= clients * names.len());
    all
}

/// Repeats what was recorded, while clients establish their connections.
fn establish_under_attack(hub: &mut Hub, recorded: &[Vec<u8>], clients: &[usize]) {
    let mut turn = recorded.iter().cycle();
    for step in 0..300 {
        for _ in 0..2 {
            hub.inject(turn.next().expect("there are some"));
        }
        hub.run(Duration::from_millis(10));
        if step == 50 {
            for &client in clients {
                hub.begin(client, "office");
            }
        }
        hub.ask();
        hub.grant();
    }
}

#[test]
fn not_those_of_a_client() {
    let recorded = record(1, &["a", "b", "c", "d", "e"]);
    let mut hub = hub(1);
    establish_under_attack(&mut hub, &recorded, &[1]);
    assert!(hub.is_up(1), "{}", hub.describe(HUB));
    // The one that is used, and at most one that recorded initiations have made.
    assert!(hub.nodes[HUB].node.sessions().sessions().count() <= 2, "{}", hub.describe(HUB));
}

#[test]
fn not_those_of_the_daemon() {
    let recorded = record(9, &["a", "b"]);
    let mut hub = hub(9);
    hub.nodes[HUB].node.set_limits(Limits { sessions: 4, ..Limits::default() });
    establish_under_attack(&mut hub, &recorded, &[1, 5, 9]);
    for client in [1, 5, 9] {
        assert!(hub.is_up(client), "client {client}: {}", hub.describe(HUB));
    }
    assert!(hub.nodes[HUB].node.sessions().sessions().count() <= 4, "{}", hub.describe(HUB));
}

/// After the attack nothing of it is left.
#[test]
fn and_they_are_forgotten() {
    let recorded = record(9, &["a", "b"]);
    let mut hub = hub(9);
    establish_under_attack(&mut hub, &recorded, &[]);
    assert!(hub.nodes[HUB].node.sessions().sessions().count() <= 9);
    hub.run(11 * SECOND);
    assert_eq!(hub.nodes[HUB].node.sessions().sessions().count(), 0, "{}", hub.describe(HUB));
    assert!(hub.nodes[HUB].events.is_empty(), "{:?}", hub.nodes[HUB].events);
}
