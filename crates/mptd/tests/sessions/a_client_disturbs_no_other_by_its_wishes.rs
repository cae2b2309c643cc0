//! The requests of one client for its own connection change nothing for the others, who share the server's sockets with it.

use std::net::UdpSocket;
use std::thread;

use crate::concentrator::{admit, assigned, client, created, server};
use crate::hosts::traffic::{deliver, receive_count, send_numbered};
use crate::hosts::{Daemon, Identity, Pair};

/// Packets that one client sends while another connects, and how many in a second: few enough for a busy machine, so many that
/// a tenth of a second without them shows.
const NUMBER: u64 = 1500;
const RATE: u32 = 500;

/// A second socket on the server's port, without the checksum, would get everything that arrives from then on.
#[test]
fn one_without_udp_checksum_leaves_the_others_their_packets() {
    let pair = Pair::with_lines(2);
    let names = [Identity::new(), Identity::new()];
    let own = Identity::new();
    let mut config = server(&own, &["10.71.1.2"]);
    admit(&mut config, "first", &names[0]);
    admit(&mut config, "second", &names[1]);
    let server = Daemon::start(&pair.b, &config);
    // Two hosts behind different addresses of one line.
    let other = crate::hosts::Host::new("c");
    pair.b.cable("third", &["10.73.0.2/24"], (&other, "wan", &["10.73.0.1/24"]));
    other.ip("route add 10.71.1.2/32 via 10.73.0.2");
    let start = |host, identity: &Identity, local: &str, checksum: bool| {
        let mut config = client(identity, &own);
        config.connection("office").set("udp_checksum", checksum);
        let path = config.path("office", "wan").set("local", local);
        path.set("remote", "10.71.1.2");
        Daemon::start(host, &config)
    };
    let first = start(&pair.a, &names[0], "10.71.1.1", true);
    created(&server, "first.office");
    created(&first, "office");
    let address = assigned(&first);
    let from: UdpSocket = pair.a.udp(&format!("{address}:5000"));
    let to = pair.b.udp("10.72.0.2:5000");

    // While the other one connects, not a packet of the first is lost.
    let address = to.local_addr().unwrap();
    let second = thread::scope(|scope| {
        scope.spawn(|| send_numbered(&from, address, 0..NUMBER, 100, RATE));
        let arrived = scope.spawn(|| receive_count(&to, NUMBER));
        let second = start(&other, &names[1], "10.73.0.1", false);
        created(&server, "second.office");
        created(&second, "office");
        let mut arrived = arrived.join().unwrap();
        arrived.sort_unstable();
        arrived.dedup();
        assert_eq!(arrived.len() as u64, NUMBER, "packets of the first client were lost");
        second
    });
    let also = other.udp(&format!("{}:5000", assigned(&second)));
    deliver(&also, &to, 100);
}
