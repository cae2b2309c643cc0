//! A narrowed policy of a `[[client]]` holds for its live connection when the reload has returned. What can change in place does, and the session
//! goes on; what cannot ends with a reason, and the client asks again.

use std::thread;
use std::time::Duration;

use mpt_api::{EventKind, LossReason, PathChange, SessionState};

use crate::concentrator::{admit, assigned, client, created, find, server};
use crate::hosts::traffic::{deliver, expect_silence};
use crate::hosts::{Config, Daemon, Identity, Pair, Pulse, wait_for};
use crate::two_clients::Office;

/// Tells a session from the next one.
fn handshakes(server: &Daemon) -> u64 {
    find(server, "anna.office").expect("it goes on").session.unwrap().handshakes
}

#[test]
fn networks_are_taken_away_in_place() {
    let mut office = Office::new();
    let both = vec!["192.168.7.0/24", "192.168.8.0/24"];
    office.config.client("anna").set("networks", both);
    for address in ["192.168.7.1/32", "192.168.8.1/32"] {
        office.pair.a.add_address("lo", address);
    }
    let running = office.start();
    let to = office.pair.b.udp("10.72.0.2:6000");
    let taken_away = office.pair.a.udp("192.168.8.1:6000");
    deliver(&taken_away, &to, 100);
    let goes_on =
        Pulse::start((&office.pair.a, "192.168.7.1:6001"), (&office.pair.b, "10.72.0.2:6001"));
    let before = handshakes(&running.server);

    office.config.client("anna").set("networks", vec!["192.168.7.0/24"]);
    running.server.reload(&office.config);
    for _ in 0..50 {
        taken_away.send_to(&[0; 100], to.local_addr().unwrap()).unwrap();
    }
    wait_for("they are dropped", || {
        (running.server.drops("anna.office", "foreign_source") == 50).then_some(())
    });
    expect_silence(&to, Duration::from_millis(200));
    assert!(!office.pair.b.ip("route show").contains("192.168.8.0/24"), "nor is it routed there");
    thread::sleep(Duration::from_millis(500));
    goes_on.end().assert_complete();
    assert_eq!(handshakes(&running.server), before, "the session went on");
}

#[test]
fn weights_are_bounded_in_place() {
    let mut office = Office::new();
    let running = office.start();
    let wish = PathChange { weight_in: 800.try_into().ok(), ..PathChange::default() };
    running.anna.set_path("office", "line", wish);
    let weight = |server: &Daemon| created(server, "anna.office").paths[0].weight;
    wait_for("the wish is followed", || (weight(&running.server) == 800).then_some(()));
    let before = handshakes(&running.server);
    running.server.reload(&office.config);
    assert_eq!(weight(&running.server), 800, "a reload that changes nothing leaves it");

    office.config.client("anna").set("max_weight", 5);
    running.server.reload(&office.config);
    assert_eq!(weight(&running.server), 5);
    assert_eq!(handshakes(&running.server), before, "the session went on");
}

#[test]
fn addresses_of_another_pool_are_had_after_asking_again() {
    let mut office = Office::new();
    let running = office.start();
    let before = assigned(&running.anna);
    let mut events = running.server.monitor();
    office.config.pool("inside").set("networks", vec!["10.72.0.128/25"]);
    running.server.reload(&office.config);
    assert!(find(&running.server, "anna.office").is_none(), "at once");
    let removed = events.find_map(|event| match event {
        EventKind::ClientRemoved { client, reason, .. } if client == "anna" => Some(reason),
        _ => None,
    });
    assert_eq!(removed, Some(LossReason::Policy));
    let log = running.server.log();
    assert!(log.contains("its addresses are not among those of the client any more"), "{log}");
    created(&running.server, "anna.office");
    wait_for("it has an address of the new pool", || {
        let address = assigned(&running.anna);
        (address != before && "10.72.0.128/25".parse::<ipnet::IpNet>().unwrap().contains(&address))
            .then_some(())
    });
}

/// A connection that may be no longer as it is ends with the reload, and the client gets no other one like it.
fn ends(change: impl FnOnce(&mut Config), why: &str) {
    let pair = Pair::with_lines(2);
    let identities = [Identity::new(), Identity::new()];
    let mut config = server(&identities[1], &["10.71.1.2", "10.71.2.2"]);
    admit(&mut config, "anna", &identities[0]);
    let mut of_client = client(&identities[0], &identities[1]);
    for line in 1..=2 {
        of_client.lay_path("office", line, 1);
    }
    let [a, b] = [Daemon::start(&pair.a, &of_client), Daemon::start(&pair.b, &config)];
    created(&b, "anna.office");
    created(&a, "office");
    let from = pair.a.udp(&format!("{}:6000", assigned(&a)));
    let to = pair.b.udp("10.72.0.2:6000");
    deliver(&from, &to, 100);
    let mut events = b.monitor();
    change(&mut config);
    b.reload(&config);
    assert!(find(&b, "anna.office").is_none(), "at once");
    let removed = events.find_map(|event| match event {
        EventKind::ClientRemoved { client, reason, .. } if client == "anna" => Some(reason),
        _ => None,
    });
    assert_eq!(removed, Some(LossReason::Policy));
    assert!(b.log().contains(why), "{}", b.log());
    for _ in 0..50 {
        // Its address, and the way there, may be gone.
        let _ = from.send_to(&[0; 100], to.local_addr().unwrap());
    }
    expect_silence(&to, Duration::from_millis(200));
    wait_for("the client is refused", || {
        let session = a.connection("office").session?;
        (session.state == SessionState::Refused).then_some(())
    });
    assert!(a.log().contains(why), "{}", a.log());
    assert!(find(&b, "anna.office").is_none());
}

#[test]
fn a_connection_of_more_paths_than_there_may_be_ends() {
    let narrow = |config: &mut Config| {
        config.client("anna").set("max_paths", 1);
    };
    ends(narrow, "max_paths of this client is 1");
}

#[test]
fn a_connection_mapped_as_it_may_be_no_longer_ends() {
    let narrow = |config: &mut Config| {
        config.client("anna").set("mappings", vec!["duplicate"]);
    };
    ends(narrow, "is not allowed");
}
