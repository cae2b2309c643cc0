//! The papers' example: VoIP and bulk traffic between the same two hosts, over the same addresses and ports, with path weights of their own.

use std::net::UdpSocket;

use socket2::SockRef;

use crate::hosts::traffic::{deliver, tcp_both_ways};
use crate::hosts::{Config, Host, Pair};

/// Class of voice (RFC 3246) as a TOS byte.
const EF: u32 = 46 << 2;

#[test]
fn voice_told_by_protocol_and_port() {
    check("protocol = 'udp'\ndestination_port = '5060-5061'", |host, [_, voice]| host.udp(voice));
}

#[test]
fn voice_told_by_source_port() {
    check("protocol = 'udp'\nsource_port = '5060-5061'", |host, [_, voice]| host.udp(voice));
}

#[test]
fn voice_told_by_its_class() {
    check("dscp = 'EF'", |host, [bulk, _]| {
        let socket = host.udp(&bulk.replace(":5000", ":6000"));
        SockRef::from(&socket).set_tos_v4(EF).unwrap();
        socket
    });
}

/// `selector`: what makes a packet voice. `voice`: opens a socket whose packets are, given an address for bulk and one for voice.
fn check(selector: &str, voice: impl Fn(&Host, [&str; 2]) -> UdpSocket) {
    let pair = Pair::with_lines(3);
    let mut configs = pair.configs();
    for (end, config) in (1..).zip(&mut configs) {
        configure(config, end, selector);
    }
    let [a, b] = pair.start(&configs);
    let addresses = |end: u8| [5000, 5060].map(|port| format!("10.72.0.{end}:{port}"));
    let sockets = [(&pair.a, 1), (&pair.b, 2)].map(|(host, end)| {
        let [bulk, call] = addresses(end);
        (host.udp(&bulk), voice(host, [&bulk, &call]))
    });
    let [(bulk_a, voice_a), (bulk_b, voice_b)] = &sockets;
    std::thread::scope(|scope| {
        scope.spawn(|| deliver(bulk_a, bulk_b, 500));
        scope.spawn(|| deliver(voice_a, voice_b, 400));
        scope.spawn(|| deliver(voice_b, voice_a, 400));
    });
    for (daemon, bulk) in [(&a, [300, 100, 100]), (&b, [0, 0, 0])] {
        assert_eq!(daemon.packets_sent("voice"), [300, 100]);
        assert_eq!(daemon.packets_sent("bulk"), bulk);
    }
    for (name, packets) in [("voice", 400), ("bulk", 500)] {
        let connection = b.connection(name);
        assert_eq!(connection.received.packets, packets, "{name}");
        assert_eq!(crate::hosts::counted(&connection.drops), mpt_api::Counters::new());
    }
    // Whatever is not voice takes the other one.
    tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5060", 100_000);
    assert_eq!(a.packets_sent("voice"), [300, 100]);
}

fn configure(config: &mut Config, end: u8, selector: &str) {
    config.remove("tunnel", None);
    let networks = vec![format!("10.72.0.{}", 3 - end)];
    let keys = |name, key| (name, key, networks.clone());
    for (name, key, networks) in [keys("voice", 1), keys("bulk", 2)] {
        config.connection(name).set("key", key).set("networks", networks);
    }
    config.connection("voice").select(selector);
    for (name, lines) in [("voice", 1..=2), ("bulk", 1..=3)] {
        for line in lines {
            config.lay_path(name, line, end).set("weight", if line == 1 { 3 } else { 1 });
        }
    }
}
