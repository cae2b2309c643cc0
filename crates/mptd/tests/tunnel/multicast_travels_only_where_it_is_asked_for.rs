//! Routing protocols need multicast on the tunnel's link; nobody else does.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use socket2::SockRef;

use crate::hosts::traffic::{deliver, expect_silence, receive_count, send_numbered};
use crate::hosts::{Host, Pair, wait_for};

/// All OSPF routers (RFC 2328) and all RIPng routers (RFC 2080).
const GROUPS: [&str; 2] = ["224.0.0.5:5000", "[ff02::9]:5000"];

#[test]
fn it_travels_on_the_connection_that_has_it() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    for config in &mut configs {
        config.connection("tunnel").set("multicast", true);
    }
    let [a, b] = pair.start(&configs);
    // The kernel solicits routers as soon as the device is there, which may be before the connection.
    let before = a.daemon_drops("multicast");
    for group in GROUPS {
        let (sender, receiver) = sockets(&pair, group);
        send_numbered(&sender, group_address(&pair.a, group), 0..20, 100, 1000);
        assert_eq!(receive_count(&receiver, 20).len(), 20, "{group}");
    }
    assert_eq!(a.daemon_drops("multicast"), before);
    assert_eq!(b.drops("tunnel", "multicast"), 0);
}

#[test]
fn otherwise_it_is_a_quiet_counter() {
    let pair = Pair::with_lines(2);
    let [a, b] = pair.start(&pair.configs());
    for group in GROUPS {
        let (sender, receiver) = sockets(&pair, group);
        // The kernel says something of its own on the device now and then (IPv6 router
        // solicitations): hence at least.
        let before = a.daemon_drops("multicast");
        send_numbered(&sender, group_address(&pair.a, group), 0..20, 100, 1000);
        wait_for("all are counted", || (a.daemon_drops("multicast") >= before + 20).then_some(()));
        expect_silence(&receiver, Duration::from_millis(50));
    }
    assert_eq!(a.packets_sent("tunnel"), [0, 0]);
    assert!(!a.log().contains("multicast"), "{}", a.log());
    deliver(&pair.a.udp("10.72.0.1:5001"), &pair.b.udp("10.72.0.2:5001"), 10);
    assert!(crate::hosts::counted(&b.connection("tunnel").drops).is_empty());
}

#[test]
fn an_end_that_does_not_carry_it_drops_what_arrives() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    configs[0].connection("tunnel").set("multicast", true);
    let [_a, b] = pair.start(&configs);
    let (sender, receiver) = sockets(&pair, GROUPS[0]);
    send_numbered(&sender, group_address(&pair.a, GROUPS[0]), 0..20, 100, 1000);
    wait_for("all are counted", || (b.drops("tunnel", "multicast") >= 20).then_some(()));
    expect_silence(&receiver, Duration::from_millis(50));
}

/// A socket at `a` that sends into the tunnel, and one at `b` that is a member of the group there.
fn sockets(pair: &Pair, group: &str) -> (UdpSocket, UdpSocket) {
    match group.parse().unwrap() {
        SocketAddr::V4(group) => {
            let (sender, receiver) = (pair.a.udp("10.72.0.1:5000"), pair.b.udp("0.0.0.0:5000"));
            SockRef::from(&sender).set_multicast_if_v4(&Ipv4Addr::new(10, 72, 0, 1)).unwrap();
            receiver.join_multicast_v4(group.ip(), &Ipv4Addr::new(10, 72, 0, 2)).unwrap();
            (sender, receiver)
        }
        SocketAddr::V6(group) => {
            let (sender, receiver) = (pair.a.udp("[fd00:72::1]:5000"), pair.b.udp("[::]:5000"));
            receiver.join_multicast_v6(group.ip(), device(&pair.b)).unwrap();
            (sender, receiver)
        }
    }
}

/// The group, by the tunnel's device.
fn group_address(host: &Host, group: &str) -> SocketAddr {
    let mut address: SocketAddr = group.parse().unwrap();
    if let SocketAddr::V6(address) = &mut address {
        address.set_scope_id(device(host));
    }
    address
}

fn device(host: &Host) -> u32 {
    host.index("mpt0")
}
