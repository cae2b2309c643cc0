//! Events follow links, addresses and routes, and survive lost notifications.

use std::time::Duration;

use mpt_linux::netlink::{Event, Events, MAIN_TABLE, Route};
use tokio::time::timeout;

use crate::network::{Host, cable, net};

/// The next change that `select` is interested in.
async fn next<T>(events: &mut Events, select: impl Fn(Event) -> Option<T>) -> T {
    let wait = async {
        loop {
            let event = events.next().await.expect("the kernel is connected");
            if let Some(selected) = select(event) {
                return selected;
            }
        }
    };
    timeout(Duration::from_secs(10), wait).await.expect("the change is told")
}

fn about_links(event: Event) -> Option<String> {
    Some(match event {
        Event::LinkAppeared(link) => format!("appeared {}", link.name),
        Event::LinkUp(link) => format!("up {}", link.name),
        Event::LinkDown(link) => format!("down {}", link.name),
        Event::LinkGone { name, .. } => format!("gone {name}"),
        Event::MtuChanged(link) => format!("mtu {} {}", link.mtu, link.name),
        _ => return None,
    })
}

#[tokio::test]
async fn a_link_comes_and_goes() {
    let (a, b) = (Host::new("link-a").await, Host::new("link-b").await);
    let mut events = Events::connect_in(&a.namespace).await.unwrap();
    cable((&a, "eth0", "10.0.0.1/24"), (&b, "eth0", "10.0.0.2/24")).await;
    assert_eq!(next(&mut events, about_links).await, "appeared eth0");
    assert_eq!(next(&mut events, about_links).await, "up eth0");
    let (index, peer) = (a.index("eth0").await, b.index("eth0").await);
    a.netlink.set_mtu(index, 1400).await.unwrap();
    assert_eq!(next(&mut events, about_links).await, "mtu 1400 eth0");
    b.netlink.set_down(peer).await.unwrap();
    assert_eq!(next(&mut events, about_links).await, "down eth0", "no carrier");
    b.netlink.set_up(peer).await.unwrap();
    assert_eq!(next(&mut events, about_links).await, "up eth0");
    a.netlink.set_down(index).await.unwrap();
    assert_eq!(next(&mut events, about_links).await, "down eth0");
    a.netlink.rename_link(index, "eth1").await.unwrap();
    assert_eq!(next(&mut events, about_links).await, "gone eth0");
    assert_eq!(next(&mut events, about_links).await, "appeared eth1");
    a.netlink.remove_link(index).await.unwrap();
    assert_eq!(next(&mut events, about_links).await, "gone eth1");
}

#[tokio::test]
async fn an_address_comes_and_goes() {
    let host = Host::new("address").await;
    let interface = host.index("lo").await;
    let mut events = Events::connect_in(&host.namespace).await.unwrap();
    let about_addresses = |event| match event {
        Event::AddressAdded { .. } | Event::AddressRemoved { .. } => Some(event),
        _ => None,
    };
    for net in [net("10.0.0.1/24"), net("fd00::1/64")] {
        host.netlink.add_address(interface, net).await.unwrap();
        let event = next(&mut events, about_addresses).await;
        assert_eq!(event, Event::AddressAdded { interface, net });
        host.netlink.remove_address(interface, net).await.unwrap();
        let event = next(&mut events, about_addresses).await;
        assert_eq!(event, Event::AddressRemoved { interface, net });
    }
}

#[tokio::test]
async fn an_address_is_told_once_it_may_be_bound_to() {
    let (a, b) = (Host::new("dad-a").await, Host::new("dad-b").await);
    cable((&a, "eth0", "10.0.0.1/24"), (&b, "eth0", "10.0.0.2/24")).await;
    let mut events = Events::connect_in(&a.namespace).await.unwrap();
    // With duplicate address detection, which takes about a second.
    a.ip("address add fd00::1/64 dev eth0");
    let about_it = |event| {
        matches!(event, Event::AddressAdded { net: n, .. } if n == net("fd00::1/64")).then_some(())
    };
    next(&mut events, about_it).await;
    a.socket("[fd00::1]:0");
}

#[tokio::test]
async fn routes_of_others_are_told_and_ours_are_not() {
    let host = Host::new("route").await;
    let mut events = Events::connect_in(&host.namespace).await.unwrap();
    let ours = Route::out_of(host.index("lo").await, net("10.2.0.0/16"));
    host.netlink.add_route(&ours).await.unwrap();
    host.ip("route add 10.1.0.0/16 dev lo");
    let about_routes = |event| matches!(event, Event::RouteChanged { .. }).then_some(event);
    let told = next(&mut events, about_routes).await;
    let destination = net("10.1.0.0/16");
    assert_eq!(told, Event::RouteChanged { table: MAIN_TABLE, destination });
}

#[tokio::test]
async fn a_flood_of_changes_leaves_the_right_picture() {
    let host = Host::new("flood").await;
    let interface = host.index("lo").await;
    let mut events = Events::connect_in(&host.namespace).await.unwrap();
    // More than the socket's buffer holds, in one go of another process while nobody listens.
    let adds = (0..20_000_u32).map(|n| {
        format!(
            "address {} 10.{}.{}.1/32 dev lo\n",
            if n % 2 == 0 { "add" } else { "del" },
            n / 2 / 250,
            n / 2 % 250
        )
    });
    let batch: String = adds.chain(["address add 192.0.2.1/32 dev lo\n".to_owned()]).collect();
    let mut ip = host.namespace.command("ip").unwrap();
    let mut ip = ip.args(["-batch", "-"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut ip.stdin.take().unwrap(), batch.as_bytes()).unwrap();
    // Blocks this thread, and so the task that would empty the socket.
    assert!(ip.wait().unwrap().success());

    let mut addresses = std::collections::HashSet::new();
    let mut lost = false;
    let settled = async {
        while !(lost && addresses.contains(&net("192.0.2.1/32"))) {
            match events.next().await.unwrap() {
                Event::AddressAdded { net, .. } => assert!(addresses.insert(net)),
                Event::AddressRemoved { net, .. } => assert!(addresses.remove(&net)),
                Event::Resynchronized => lost = true,
                _ => {}
            }
        }
    };
    timeout(Duration::from_secs(30), settled).await.expect("the kernel said it lost some");
    let present = host.netlink.addresses().await.unwrap();
    let present = present.iter().filter(|address| address.interface == interface);
    let present: std::collections::HashSet<_> =
        present.map(|address| address.net).filter(|net| !net.addr().is_loopback()).collect();
    assert_eq!(addresses, present);
}
