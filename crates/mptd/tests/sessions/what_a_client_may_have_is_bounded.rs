//! The policy of the server: whatever a client asks for, it gets no more than its table allows.

use std::time::Duration;

use mpt_api::{EventKind, SessionState};

use crate::concentrator::{admit, assigned, client, created, find, server};
use crate::hosts::traffic::{deliver, expect_silence};
use crate::hosts::{Config, Daemon, Identity, Pair, wait_for};

/// Client and server over so many lines, and what the caller changes in their files.
fn start(lines: usize, change: impl FnOnce(&mut Config, &mut Config)) -> (Pair, [Daemon; 2]) {
    let pair = Pair::with_lines(lines);
    let identities = [Identity::new(), Identity::new()];
    let listen: Vec<_> = (1..=lines).map(|line| format!("10.71.{line}.2")).collect();
    let listen: Vec<_> = listen.iter().map(String::as_str).collect();
    let mut server = server(&identities[1], &listen);
    admit(&mut server, "anna", &identities[0]);
    let mut client = client(&identities[0], &identities[1]);
    for line in 1..=lines {
        client.lay_path("office", line, 1);
    }
    change(&mut client, &mut server);
    let b = Daemon::start(&pair.b, &server);
    let a = Daemon::start(&pair.a, &client);
    b.wait_until_answering();
    a.wait_until_answering();
    (pair, [a, b])
}

fn wait_until_refused(client: &Daemon, connection: &str) {
    wait_for("it is refused", || {
        let session = client.connection(connection).session.unwrap();
        assert_ne!(session.state, SessionState::Established);
        (session.state == SessionState::Refused).then_some(())
    });
}

#[test]
fn networks() {
    let (pair, [a, b]) = start(1, |_, server| {
        server.client("anna").set("networks", vec!["192.168.7.0/24"]);
    });
    created(&a, "office");
    let address = assigned(&a);
    let networks = created(&b, "anna.office").networks;
    let expected = [format!("{address}/32"), "192.168.7.0/24".into()].map(|it| it.parse().unwrap());
    assert_eq!(networks, expected);
    pair.a.add_address("lo", "192.168.7.1/32");
    pair.a.add_address("lo", "192.168.8.1/32");
    let to = pair.b.udp("10.72.0.2:5000");
    deliver(&pair.a.udp("192.168.7.1:5000"), &to, 100);
    let foreign = pair.a.udp("192.168.8.1:5000");
    for _ in 0..100 {
        foreign.send_to(b"not from here", to.local_addr().unwrap()).unwrap();
    }
    wait_for("they are dropped", || {
        (b.drops("anna.office", "foreign_source") == 100).then_some(())
    });
    expect_silence(&to, Duration::from_millis(100));
}

#[test]
fn paths() {
    let (pair, [a, b]) = start(3, |_, server| {
        server.client("anna").set("max_paths", 2);
    });
    wait_until_refused(&a, "office");
    assert!(a.log().contains("max_paths of this client is 2"), "the log says why: {}", a.log());
    assert!(b.show().connections.is_empty());
    let socket = pair.a.udp("10.71.1.1:0");
    socket.send_to(b"the lines work", "10.71.1.2:9").unwrap();
}

#[test]
fn weights() {
    let (_pair, [a, b]) = start(2, |client, server| {
        server.client("anna").set("max_weight", 5);
        client.path("office", "line1").set("weight", 1).set("weight_in", 2);
        client.path("office", "line2").set("weight", 60_000).set("weight_in", 60_000);
    });
    created(&a, "office");
    let paths = created(&b, "anna.office").paths;
    let weights: Vec<_> = paths.iter().map(|it| (it.weight, it.weight_in)).collect();
    assert_eq!(weights, [(2, 1), (5, 5)]);
    wait_for("a later wish is bounded, too", || {
        let change = mpt_api::PathChange { weight_in: 1000.try_into().ok(), ..Default::default() };
        a.set_path("office", "line1", change);
        let weight = created(&b, "anna.office").paths[0].weight;
        assert!(weight <= 5, "{weight}");
        (weight == 5).then_some(())
    });
}

#[test]
fn connections() {
    let (_pair, [a, b]) = start(1, |client, _| {
        client.device("mpt1").set("addresses", "assigned");
        client.connection("office").set("device", "mpt0");
        let peer = client.peer_key("office");
        client.connection("second").set("device", "mpt1").set("networks", vec!["10.72.1.0/24"]);
        client.peer("second").set("public_key", peer).set("create", true);
        client.lay_path("second", 1, 1).set("local_port", 4755);
    });
    let names = ["office", "second"];
    let state = |name: &str| a.connection(name).session.unwrap().state;
    wait_for("one is established, the other refused", || {
        let mut states = names.map(state);
        states.sort_by_key(|state| *state == SessionState::Refused);
        (states == [SessionState::Established, SessionState::Refused]).then_some(())
    });
    assert_eq!(b.show().connections.len(), 1);
}

#[test]
fn creations_per_second() {
    const CONNECTIONS: usize = 4;
    let (_pair, [_a, b]) = start(1, |client, server| {
        server.daemon().set("creations_per_second", 1);
        server.client("anna").set("max_connections", CONNECTIONS as i64);
        let peer = client.peer_key("office");
        client.remove("office", None);
        for number in 0..CONNECTIONS {
            let (name, device) = (format!("c{number}"), format!("mpt{number}"));
            client.device(&device).set("addresses", "assigned");
            let section = client.connection(&name).set("device", device);
            section.set("networks", vec![format!("10.73.{number}.0/24")]);
            client.peer(&name).set("public_key", peer.as_str()).set("create", true);
            client.lay_path(&name, 1, 1).set("local_port", 4760 + number as i64);
        }
    });
    let events = b.monitor_with_times();
    let before = b.show().connections.len();
    let added = events.filter(|(_, event)| matches!(event, EventKind::ClientAdded { .. }));
    let times: Vec<u64> = added.map(|(time, _)| time).take(CONNECTIONS - before - 1).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 950), "{times:?}");
    wait_for("all are created in the end", || {
        let all = (0..CONNECTIONS).all(|number| find(&b, &format!("anna.c{number}")).is_some());
        all.then_some(())
    });
}
