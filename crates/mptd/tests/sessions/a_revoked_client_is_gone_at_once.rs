//! A `[[client]]` that is taken out of the file, or gets another key, is gone when the reload has returned: nothing of it passes any
//! more, and what it had belongs to whoever comes next.

use std::thread;
use std::time::{Duration, Instant};

use mpt_api::{EventKind, LossReason, SessionState};

use crate::concentrator::{assigned, created, find};
use crate::hosts::{Capture, Config, Daemon, Datagram, Identity, Preshared, wait_for};
use crate::two_clients::{Forger, Office, count_arriving};

/// Time for which packets may still pass after a reload has returned.
const GRACE: Duration = Duration::from_secs(1);
/// Time of observation that nothing passes: longer than a refused client waits before it tries again.
const WATCHED: Duration = Duration::from_secs(8);

/// Changes the server's file while datagrams flow between it and both clients: those of anna end, those of bob do not. If her public
/// key `is_known` still, her initiations are answered, in vain.
fn ends_for_anna(is_known: bool, change: impl FnOnce(&Daemon, &mut Config)) {
    let mut office = Office::new();
    let running = office.start();
    let address = assigned(&running.anna);
    let mut events = running.server.monitor();
    let of_anna = office.pulses(0, &running.anna);
    let of_bob = office.pulses(1, &running.bob);
    thread::sleep(Duration::from_millis(500));

    change(&running.server, &mut office.config);
    running.server.reload(&office.config);
    let reloaded = Instant::now();
    thread::sleep(GRACE);
    let captures = [&office.pair.a, &office.pair.b].map(Capture::start);
    thread::sleep(WATCHED);
    let [from_anna, from_server] = captures.map(Capture::sent);
    let data = |it: &&Datagram| !it.is_control();
    let anna = "10.71.1.1".parse::<std::net::IpAddr>().unwrap();
    let to_anna: Vec<_> = from_server.iter().filter(|it| it.destination.ip() == anna).collect();
    assert_eq!(to_anna.iter().filter(|it| data(it)).count(), 0, "data from the server to anna");
    assert_eq!(from_anna.iter().filter(data).count(), 0, "data from anna to the server");
    assert!(!from_anna.is_empty(), "anna goes on trying");
    let session = running.anna.connection("office").session.unwrap();
    assert_eq!(session.state, SessionState::Connecting, "there is no handshake with her");
    if !is_known {
        assert_eq!(to_anna.len(), 0, "the server answers her: {to_anna:?}");
    }

    for pulse in of_anna {
        let beats = pulse.end();
        assert!(!beats.arrived.is_empty(), "it flowed before");
        let late = beats.arrived.iter().filter(|(at, _)| *at > reloaded + GRACE).count();
        assert_eq!(late, 0, "datagrams that arrived later than {GRACE:?} after the reload");
    }
    of_bob.into_iter().for_each(|pulse| pulse.end().assert_complete());
    assert!(find(&running.server, "anna.office").is_none());
    assert!(!office.pair.b.ip("route show").contains(&address.to_string()));
    let reason = events.find_map(|event| match event {
        EventKind::ClientRemoved { client, reason, .. } if client == "anna" => Some(reason),
        _ => None,
    });
    assert_eq!(reason, Some(LossReason::Removed));
}

#[test]
fn when_its_table_is_removed() {
    ends_for_anna(false, |_, config| config.remove_table("client", "anna"));
}

#[test]
fn when_its_key_is_changed() {
    let other = Identity::new();
    ends_for_anna(false, |_, config| {
        config.client("anna").set("public_key", other.public());
    });
}

#[test]
fn when_it_gets_a_pre_shared_key() {
    let psk = Preshared::new();
    ends_for_anna(true, |server, config| {
        config.client("anna").set("psk_file", server.adopt_file(&psk.file()));
    });
}

/// A client that does not seal and does not care for goodbyes goes on sending from where it was, with the GRE key that it was given.
#[test]
fn and_what_it_sends_regardless_goes_nowhere() {
    let mut office = Office::new();
    office.config.client("anna").set("seal", "off");
    let mut running = office.start();
    let address = assigned(&running.anna);
    let key = created(&running.anna, "office").key;
    running.anna.kill();
    let socket = office.pair.a.udp("10.71.1.1:4754");
    let inside = [(address, 5000), ("10.72.0.2".parse().unwrap(), 5000)];
    let forger = Forger::new(socket, "10.71.1.2:4754", key, inside);
    let receiver = office.pair.b.udp("10.72.0.2:5000");
    forger.send(20);
    assert_eq!(count_arriving(&receiver), 20, "while it is a client");

    office.config.remove_table("client", "anna");
    running.server.reload(&office.config);
    forger.send(20);
    assert_eq!(count_arriving(&receiver), 0, "when it is none any more");
}

/// The address, the GRE key and the network behind a client go to the next who asks for them.
#[test]
fn and_what_it_had_is_free() {
    const KEY: i64 = 77;
    let mut office = Office::new();
    // Room for the server and one client.
    office.config.pool("inside").set("networks", vec!["10.72.0.0/30"]);
    office.config.client("anna").set("networks", vec!["192.168.7.0/24"]);
    let [mut of_anna, mut of_bob] = [0, 1].map(|number| office.client(number));
    for config in [&mut of_anna, &mut of_bob] {
        config.connection("office").set("key", KEY);
    }
    let server = Daemon::start(&office.pair.b, &office.config);
    let anna = Daemon::start(&office.pair.a, &of_anna);
    let before = created(&server, "anna.office");
    let address = assigned(&anna);
    assert_eq!(before.key, Some(KEY as u32));
    wait_for("there is a route", || {
        office.pair.b.ip("route show").contains("192.168.7.0/24").then_some(())
    });
    let bob = Daemon::start(&office.c, &of_bob);
    wait_for("bob is refused", || bob.log().contains("has no address left").then_some(()));

    office.config.remove_table("client", "anna");
    server.reload(&office.config);
    assert!(!office.pair.b.ip("route show").contains("192.168.7.0/24"), "its route is gone");
    assert_eq!(created(&server, "bob.office").key, Some(KEY as u32));
    assert_eq!(assigned(&bob), address);
    office.config.client("bob").set("networks", vec!["192.168.7.0/24"]);
    server.reload(&office.config);
    let network = "192.168.7.0/24".parse().unwrap();
    assert!(created(&server, "bob.office").networks.contains(&network));
}

/// Reloads that admit and revoke one client in turn cost the other one nothing.
#[test]
fn and_others_lose_nothing_in_a_storm_of_reloads() {
    const RELOADS: u32 = 20;
    const STORM: Duration = Duration::from_secs(5);
    let office = Office::new();
    let running = office.start();
    let of_bob = office.pulses(1, &running.bob);
    let mut without = office.config.clone();
    without.remove_table("client", "anna");
    let handshakes =
        |daemon: &Daemon| find(daemon, "bob.office").unwrap().session.unwrap().handshakes;
    let before = handshakes(&running.server);
    let start = Instant::now();
    for number in 0..RELOADS {
        let due = start + STORM * number / RELOADS;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        running.server.reload(if number % 2 == 0 { &without } else { &office.config });
    }
    of_bob.into_iter().for_each(|pulse| pulse.end().assert_complete());
    assert_eq!(handshakes(&running.server), before, "the session went on");
    // The last one admitted her.
    created(&running.server, "anna.office");
}
