//! A path whose interface cannot send says so, instead of using that of another path.

use std::io::ErrorKind;

use mpt_linux::netlink::{Lookup, Netlink, Owned, PathRouting, Query};

use crate::network::{Host, cable, exchange, ip};

/// The remote address is behind both cables; the path leaves by the second.
async fn hosts(label: &str) -> (Host, Host, Owned) {
    let a = Host::new(&format!("{label}-a")).await;
    let b = Host::new(&format!("{label}-b")).await;
    b.add_address("lo", "192.0.2.1/32").await;
    cable((&a, "one", "10.0.1.1/24"), (&b, "one", "10.0.1.2/24")).await;
    a.ip("route add 192.0.2.1 via 10.0.1.2");
    second_cable(&a, &b).await;
    let mut owned = Owned::new(a.netlink.clone());
    owned
        .add_path(PathRouting {
            local: ip("10.0.2.1"),
            remote: ip("192.0.2.1"),
            interface: "two".to_owned(),
            gateway: None,
        })
        .await
        .unwrap();
    (a, b, owned)
}

async fn second_cable(a: &Host, b: &Host) {
    cable((a, "two", "10.0.2.1/24"), (b, "two", "10.0.2.2/24")).await;
    a.ip("route add 192.0.2.1 via 10.0.2.2 metric 9");
}

async fn lookup(netlink: &Netlink) -> Result<Lookup, String> {
    let query = Query { source: Some(ip("10.0.2.1")), ..Query::to(ip("192.0.2.1")) };
    netlink.lookup(query).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn while_its_interface_is_down() {
    let (a, b, mut owned) = hosts("down").await;
    let two = a.index("two").await;
    let (sender, receiver) = (a.socket("10.0.2.1:0"), b.socket("192.0.2.1:0"));
    exchange(&sender, &receiver);

    a.netlink.set_down(two).await.unwrap();
    assert!(owned.refresh().await.1.is_empty());
    let error = lookup(&a.netlink).await.unwrap_err();
    assert!(error.contains("No route to host"), "{error}");
    let error = sender.send_to(b"x", receiver.local_addr().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HostUnreachable);

    a.netlink.set_up(two).await.unwrap();
    a.ip("route add 192.0.2.1 via 10.0.2.2 metric 9");
    assert!(owned.refresh().await.1.is_empty());
    assert_eq!(lookup(&a.netlink).await.unwrap().interface, two);
    exchange(&sender, &receiver);
    owned.remove_all().await.unwrap();
}

#[tokio::test]
async fn until_its_interface_is_there_again() {
    let (a, b, mut owned) = hosts("gone").await;
    let before = a.index("two").await;
    a.netlink.remove_link(before).await.unwrap();
    assert!(owned.refresh().await.1.is_empty());

    second_cable(&a, &b).await;
    let after = a.index("two").await;
    assert_ne!(before, after);
    assert!(lookup(&a.netlink).await.unwrap_err().contains("No route to host"));
    assert!(owned.refresh().await.1.is_empty());
    assert_eq!(lookup(&a.netlink).await.unwrap().interface, after);
    exchange(&a.socket("10.0.2.1:0"), &b.socket("192.0.2.1:0"));
    owned.remove_all().await.unwrap();
}

#[tokio::test]
async fn and_follows_a_change_of_router() {
    let (a, b, mut owned) = hosts("router").await;
    b.add_address("two", "10.0.2.3/24").await;
    a.ip("route replace 192.0.2.1 via 10.0.2.3 metric 9");
    assert!(owned.refresh().await.1.is_empty());
    assert_eq!(lookup(&a.netlink).await.unwrap().gateway, Some(ip("10.0.2.3")));

    a.ip("route del 192.0.2.1 via 10.0.2.3 metric 9");
    assert!(owned.refresh().await.1.is_empty());
    assert!(lookup(&a.netlink).await.unwrap_err().contains("No route to host"));
    owned.remove_all().await.unwrap();
}
