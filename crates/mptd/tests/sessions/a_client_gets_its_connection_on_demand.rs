//! A client asks the server for its connection: inner address, GRE key and paths are agreed, data flows, and it is gone when the
//! client leaves.

use mpt_api::{LossReason, SessionRole, SessionState};
use mpt_wire::gre;

use crate::concentrator::{admit, assigned, client, created, find, server};
use crate::hosts::traffic::{deliver, tcp_both_ways};
use crate::hosts::{Capture, Config, Daemon, Datagram, Identity, Line, Pair, wait_for};
use crate::support::wait_for_control;

/// Client at `a`, server at `b`, over two lines.
struct Office {
    pair: Pair,
    identities: [Identity; 2],
    configs: [Config; 2],
}

impl Office {
    fn new() -> Self {
        let pair = Pair::new(&[Line::plain(); 2]);
        let identities = [Identity::new(), Identity::new()];
        let mut server = server(&identities[1], &["10.71.1.2", "10.71.2.2"]);
        admit(&mut server, "anna", &identities[0]);
        let mut client = client(&identities[0], &identities[1]);
        for line in [1, 2] {
            client.lay_path("office", line, 1);
        }
        Self { pair, identities, configs: [client, server] }
    }

    fn start(&self) -> [Daemon; 2] {
        let [a, b] = [0, 1].map(|end| Daemon::start(self.pair.hosts()[end], &self.configs[end]));
        created(&b, "anna.office");
        created(&a, "office");
        [a, b]
    }
}

#[test]
fn with_address_key_and_paths() {
    let mut office = Office::new();
    office.configs[0].connection("office").set("mapping", "packet");
    office.configs[0].path("office", "line2").set("weight", 3).set("weight_in", 2);
    let [a, b] = office.start();

    let address = assigned(&a);
    let there = created(&b, "anna.office");
    let here = created(&a, "office");
    assert_eq!(there.networks, [format!("{address}/32").parse().unwrap()]);
    assert!(here.key.is_some());
    assert_eq!(here.key, there.key, "assigned by the server");
    let session = there.session.unwrap();
    assert_eq!((session.client.as_deref(), session.role), (Some("anna"), SessionRole::Responder));
    assert_eq!(session.peer, office.identities[0].public());
    let session = here.session.unwrap();
    assert_eq!((session.state, session.role), (SessionState::Established, SessionRole::Initiator));
    for (line, (path, peer)) in (1..).zip(here.paths.iter().zip(&there.paths)) {
        assert_eq!(
            (&path.name, path.weight, path.weight_in),
            (&peer.name, peer.weight_in, peer.weight)
        );
        assert_eq!(peer.remote, Some(format!("10.71.{line}.1:4754").parse().unwrap()));
        assert!(peer.remote_learned);
    }

    let capture = Capture::start(&office.pair.b);
    let from = office.pair.b.udp("10.72.0.2:5000");
    let to = office.pair.a.udp(&format!("{address}:5000"));
    deliver(&from, &to, 1000);
    deliver(&to, &from, 1000);
    office.pair.a.program("ping", "-c 3 -i 0.05 -W 5 10.72.0.2");
    office.pair.b.program("ping", &format!("-c 3 -i 0.05 -W 5 {address}"));
    tcp_both_ways(&office.pair.a, &office.pair.b, "10.72.0.2:5001", 1_000_000);
    tcp_both_ways(&office.pair.b, &office.pair.a, &format!("{address}:5001"), 1_000_000);
    let sent: Vec<_> = capture.sent();
    let data: Vec<_> = sent.iter().filter(|it| !it.is_control()).collect();
    assert!(data.len() > 1000);
    assert!(data.iter().all(|it| it.gre.protocol == gre::Protocol::SEALED));
    assert!(sent.iter().filter(|it| it.is_control()).all(|it| it.gre.key == here.key));
    let paths = created(&b, "anna.office").paths;
    let shares = paths[1].sent.packets as f64 / paths[0].sent.packets as f64;
    assert!((1.9..2.1).contains(&shares), "as the client wishes: {shares}");
}

#[test]
fn and_the_same_address_and_key_when_it_comes_again() {
    let office = Office::new();
    let [mut a, b] = office.start();
    let (address, key) = (assigned(&a), created(&a, "office").key);
    a.kill();
    a.start_again(&office.pair.a);
    created(&a, "office");
    assert_eq!((assigned(&a), created(&a, "office").key), (address, key));
    tcp_both_ways(&office.pair.b, &office.pair.a, &format!("{address}:5001"), 300_000);
    let connections = b.show().connections;
    assert_eq!(connections.len(), 1, "the old one is replaced: {connections:?}");
}

#[test]
fn and_it_is_removed_when_the_client_says_goodbye() {
    let office = Office::new();
    let [a, b] = office.start();
    let address = assigned(&a);
    let mut events = b.monitor();
    assert!(office.pair.b.ip("route show").contains("dev mpt0"));
    a.stop();
    wait_for("the server has no connection", || find(&b, "anna.office").is_none().then_some(()));
    let reason = events.find_map(|event| match event {
        mpt_api::EventKind::ClientRemoved { reason, .. } => Some(reason),
        _ => None,
    });
    assert_eq!(reason, Some(LossReason::PeerShutDown));
    assert!(!office.pair.b.ip("route show").contains(&format!("{address} ")), "nor a route");
    // Somebody else can have what it had.
    let again = Daemon::start(&office.pair.a, &office.configs[0]);
    created(&b, "anna.office");
    assert_eq!(assigned(&again), address);
}

#[test]
fn but_nobody_who_is_not_in_the_file_of_the_server() {
    let mut office = Office::new();
    let stranger = Identity::new();
    office.configs[0].daemon().set("private_key_file", stranger.file());
    let capture = Capture::start(&office.pair.b);
    let b = Daemon::start(&office.pair.b, &office.configs[1]);
    b.wait_until_answering();
    let a = Daemon::start(&office.pair.a, &office.configs[0]);
    a.wait_until_answering();
    wait_for_control(&b, "unknown_peer", 6);
    assert!(b.show().connections.is_empty());
    assert_eq!(a.connection("office").session.unwrap().state, SessionState::Connecting);
    let sent: Vec<Datagram> = capture.sent();
    assert!(sent.is_empty(), "{sent:?}");
}
