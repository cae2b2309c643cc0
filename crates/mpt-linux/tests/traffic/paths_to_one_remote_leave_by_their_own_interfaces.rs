//! Several paths to one remote address are told apart by their local address.

use std::net::UdpSocket;

use mpt_linux::netlink::{Owned, PathRouting, Query};

use crate::network::{Host, cable, exchange, ip};

/// Two cables to one router-like host, whose address behind them is the same for both paths. The
/// main table prefers the first.
async fn two_paths(label: &str, [first, second]: [[&str; 3]; 2], remote: &str) -> (Host, Host) {
    let a = Host::new(&format!("{label}-a")).await;
    let b = Host::new(&format!("{label}-b")).await;
    b.add_address("lo", remote).await;
    for ([name, left, right], metric) in [(first, 10), (second, 20)] {
        cable((&a, name, left), (&b, name, right)).await;
        let gateway = crate::network::net(right).addr();
        let remote = crate::network::net(remote);
        a.ip(&format!("route add {remote} via {gateway} dev {name} metric {metric}"));
    }
    (a, b)
}

fn path(local: &str, remote: &str, interface: &str) -> PathRouting {
    PathRouting {
        local: ip(local),
        remote: ip(remote),
        interface: interface.to_owned(),
        gateway: None,
    }
}

/// Packets that came in by an interface of `host`.
fn received(host: &Host, interface: &str) -> u64 {
    let statistics = host.ip(&format!("-s -j link show {interface}"));
    let (_, after) = statistics.split_once("\"rx\":").unwrap();
    let (_, after) = after.split_once("\"packets\":").unwrap();
    after[..after.find(|c: char| !c.is_ascii_digit()).unwrap()].parse().unwrap()
}

async fn check(a: &Host, b: &Host, locals: [&str; 2], remote: &str) {
    let mut owned = Owned::new(a.netlink.clone());
    let lookup = async |local| {
        let query = Query { source: Some(ip(local)), ..Query::to(ip(remote)) };
        a.netlink.lookup(query).await.unwrap().interface
    };
    let (one, two) = (a.index("one").await, a.index("two").await);
    assert_eq!([lookup(locals[0]).await, lookup(locals[1]).await], [one, one], "the main table");

    for (local, interface) in locals.into_iter().zip(["one", "two"]) {
        owned.add_path(path(local, remote, interface)).await.unwrap();
    }
    assert_eq!([lookup(locals[0]).await, lookup(locals[1]).await], [one, two]);

    // The kernel's answer need not be what happens to packets, so packets are sent.
    let bind = |host: &Host, address: &str| -> UdpSocket {
        host.socket(&std::net::SocketAddr::new(ip(address), 0).to_string())
    };
    let receiver = bind(b, remote);
    for (local, interface) in locals.into_iter().zip(["one", "two"]) {
        let before = received(b, interface);
        let sender = bind(a, local);
        for _ in 0..10 {
            assert_eq!(exchange(&sender, &receiver).1.ip(), ip(local));
        }
        assert!(received(b, interface) >= before + 10, "{local} leaves by {interface}");
    }
    owned.remove_all().await.unwrap();
    assert_eq!([lookup(locals[0]).await, lookup(locals[1]).await], [one, one], "as before");
}

#[tokio::test]
async fn over_ipv4() {
    let ends = [["one", "10.0.1.1/24", "10.0.1.2/24"], ["two", "10.0.2.1/24", "10.0.2.2/24"]];
    let (a, b) = two_paths("v4", ends, "192.0.2.1/32").await;
    check(&a, &b, ["10.0.1.1", "10.0.2.1"], "192.0.2.1").await;
}

#[tokio::test]
async fn over_ipv6() {
    let ends = [["one", "fd00:1::1/64", "fd00:1::2/64"], ["two", "fd00:2::1/64", "fd00:2::2/64"]];
    let (a, b) = two_paths("v6", ends, "2001:db8::1/128").await;
    check(&a, &b, ["fd00:1::1", "fd00:2::1"], "2001:db8::1").await;
}

#[tokio::test]
async fn by_a_gateway_the_main_table_does_not_know() {
    let a = Host::new("gateway-a").await;
    let b = Host::new("gateway-b").await;
    b.add_address("lo", "192.0.2.1/32").await;
    cable((&a, "one", "10.0.1.1/24"), (&b, "one", "10.0.1.2/24")).await;
    let mut owned = Owned::new(a.netlink.clone());
    let gateway = Some(ip("10.0.1.2"));
    let routing = PathRouting { gateway, ..path("10.0.1.1", "192.0.2.1", "one") };
    owned.add_path(routing).await.unwrap();
    assert_eq!(exchange(&a.socket("10.0.1.1:0"), &b.socket("192.0.2.1:0")).0, b"hello");
    owned.remove_all().await.unwrap();
}

#[tokio::test]
async fn paths_between_the_same_addresses_share_their_routing() {
    let a = Host::new("share-a").await;
    let b = Host::new("share-b").await;
    cable((&a, "one", "10.0.1.1/24"), (&b, "one", "10.0.1.2/24")).await;
    cable((&a, "two", "10.0.2.1/24"), (&b, "two", "10.0.2.2/24")).await;
    let mut owned = Owned::new(a.netlink.clone());
    let routing = path("10.0.1.1", "10.0.1.2", "one");
    owned.add_path(routing.clone()).await.unwrap();
    owned.add_path(routing.clone()).await.unwrap();
    assert_eq!(a.netlink.own_rules().await.unwrap().len(), 1);

    let other = path("10.0.1.1", "10.0.1.2", "two");
    let error = owned.add_path(other.clone()).await.unwrap_err();
    assert!(error.to_string().contains("leave by one already"), "{error}");
    owned.remove_path(&other).await.unwrap();
    owned.remove_path(&routing).await.unwrap();
    assert_eq!(a.netlink.own_rules().await.unwrap().len(), 1, "one user is left");
    owned.remove_path(&routing).await.unwrap();
    assert_eq!(a.netlink.own_rules().await.unwrap(), []);
    assert_eq!(a.netlink.own_routes().await.unwrap(), []);
}
