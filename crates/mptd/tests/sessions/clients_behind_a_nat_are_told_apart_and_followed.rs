//! Clients behind one NAT have the same address outside. Each has its own connection, and keeps it when the NAT forgets the
//! bindings in mid-transfer.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use mpt_api::EventKind;

use crate::concentrator::{admit, assigned, client, created, server};
use crate::hosts::traffic::{deliver, tcp_both_ways};
use crate::hosts::{Config, Daemon, Identity, Pulse, Stream};
use crate::nat::{Net, OUTSIDE};

/// 500 ms, and what a busy machine adds.
const LIMIT: Duration = Duration::from_secs(2);

/// Server and clients, each with its connection created.
fn start(net: &Net) -> (Daemon, Vec<Daemon>) {
    let identity = Identity::new();
    let mut config = server(&identity, &[&format!("{OUTSIDE}.2")]);
    let clients: Vec<Identity> = net.clients.iter().map(|_| Identity::new()).collect();
    for (number, client) in (1..).zip(&clients) {
        admit(&mut config, &format!("c{number}"), client);
    }
    let server = Daemon::start(&net.server, &config);
    let start = |(host, own)| {
        let mut config: Config = client(own, &identity);
        let path = config.path("office", "wan").set("interface", "wan");
        path.set("remote", format!("{OUTSIDE}.2"));
        Daemon::start(host, &config)
    };
    let daemons: Vec<_> = net.clients.iter().zip(&clients).map(start).collect();
    for number in 1..=net.clients.len() {
        created(&server, &format!("c{number}.office"));
    }
    daemons.iter().for_each(|daemon| drop(created(daemon, "office")));
    (server, daemons)
}

fn remote(server: &Daemon, client: usize) -> SocketAddr {
    created(server, &format!("c{client}.office")).paths[0].remote.unwrap()
}

#[test]
fn two_with_one_address() {
    let net = Net::new(2);
    let (server, clients) = start(&net);
    let [one, other] = [1, 2].map(|client| remote(&server, client));
    assert_eq!(one.ip(), other.ip());
    assert_eq!(one.ip().to_string(), format!("{OUTSIDE}.1"));
    assert_ne!(one.port(), other.port());
    let addresses: Vec<_> = clients.iter().map(assigned).collect();
    assert_ne!(addresses[0], addresses[1]);
    let keys = [1, 2].map(|client| created(&server, &format!("c{client}.office")).key);
    assert_ne!(keys[0], keys[1]);
    let at_server = net.server.udp("10.72.0.2:5000");
    for (host, address) in net.clients.iter().zip(&addresses) {
        let socket = host.udp(&format!("{address}:5000"));
        deliver(&at_server, &socket, 300);
        deliver(&socket, &at_server, 300);
        tcp_both_ways(&net.server, host, &format!("{address}:5001"), 300_000);
    }
    // From one client to the other, by way of the server.
    net.server.sysctl("net/ipv4/ip_forward", "1");
    tcp_both_ways(&net.clients[0], &net.clients[1], &format!("{}:5001", addresses[1]), 300_000);
}

#[test]
fn and_a_nat_that_rebinds_does_not_end_the_transfer() {
    let net = Net::new(1);
    let (server, clients) = start(&net);
    let address = assigned(&clients[0]);
    let before = remote(&server, 1);
    let mut events = server.monitor();
    let [up, down] = ["5000", "5001"].map(|port| {
        let ends = [
            (&net.clients[0], format!("{address}:{port}")),
            (&net.server, format!("10.72.0.2:{port}")),
        ];
        let [client, server] = &ends;
        let [client, server] = [(client.0, client.1.as_str()), (server.0, server.1.as_str())];
        if port == "5000" { Pulse::start(client, server) } else { Pulse::start(server, client) }
    });
    let stream = Stream::start(&net.server, &net.clients[0], &format!("{address}:5002"));
    stream.wait_for_progress();
    let start = Instant::now();
    net.rebind();
    // A packet that leaves while the NAT forgets opens a mapping that is forgotten again: the last event counts.
    let moved = events.find_map(|event| match event {
        EventKind::PathMoved { remote: moved, .. } => {
            (remote(&server, 1) == moved).then_some(moved)
        }
        _ => None,
    });
    let moved = moved.unwrap();
    assert_eq!(moved.ip(), before.ip());
    assert_ne!(moved.port(), before.port());
    stream.wait_for_progress();
    thread::sleep(Duration::from_millis(500));
    stream.end();
    for beats in [up.end(), down.end()] {
        let gap = beats.longest_gap(start);
        assert!(gap < LIMIT, "{gap:?}");
    }
}
