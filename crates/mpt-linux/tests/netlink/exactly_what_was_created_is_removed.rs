//! The ledger removes what it created and nothing that is like it.

use mpt_linux::netlink::{Event, Internet, MAIN_TABLE, Owned, PathRouting, Route, Rule, Uplink};

use crate::network::{Host, cable, ip, net};

/// Everything there is, as iproute2 shows it.
fn everything(host: &Host) -> String {
    [
        "-o address show",
        "route show table all",
        "-6 route show table all",
        "rule show",
        "-6 rule show",
    ]
    .map(|what| host.ip(what))
    .join("\n")
}

async fn host(label: &str) -> (Host, Host) {
    let (a, b) = (Host::new(&format!("{label}-a")).await, Host::new(&format!("{label}-b")).await);
    cable((&a, "eth0", "10.0.0.1/24"), (&b, "eth0", "10.0.0.2/24")).await;
    // Objects of other people, very like ours.
    a.ip("address add 10.9.0.1/24 dev eth0");
    a.ip("route add 10.1.0.0/16 dev eth0 metric 7");
    a.ip("rule add from 10.0.0.1 to 10.0.0.2 lookup 100 priority 4754");
    (a, b)
}

async fn create(a: &Host, owned: &mut Owned) {
    let index = a.index("eth0").await;
    for address in ["10.8.0.1/24", "10.8.0.2/24", "fd00:8::1/64"] {
        owned.add_address(index, net(address)).await.unwrap();
    }
    for destination in ["10.1.0.0/16", "10.2.0.0/16", "fd02::/32"] {
        owned.add_route(Route::out_of(index, net(destination))).await.unwrap();
    }
    owned.add_rule(Rule::between(ip("10.8.0.1"), ip("10.2.0.1"), 100)).await.unwrap();
    let interface = "eth0".to_owned();
    let (local, remote) = (ip("10.0.0.1"), ip("10.0.0.2"));
    owned.add_path(PathRouting { local, remote, interface, gateway: None }).await.unwrap();
}

#[tokio::test]
async fn everything_else_stays() {
    let (a, _b) = host("stays").await;
    let before = everything(&a);
    let mut owned = Owned::new(a.netlink.clone());
    create(&a, &mut owned).await;
    assert_ne!(everything(&a), before);
    owned.remove_all().await.unwrap();
    assert!(owned.is_empty());
    assert_eq!(everything(&a), before);
}

#[tokio::test]
async fn what_is_gone_already_is_no_error() {
    let (a, _b) = host("gone").await;
    let mut owned = Owned::new(a.netlink.clone());
    create(&a, &mut owned).await;
    a.ip("route del 10.2.0.0/16");
    a.ip("address del 10.8.0.2/24 dev eth0");
    a.ip("rule del to 10.2.0.1");
    owned.remove_all().await.unwrap();

    create(&a, &mut owned).await;
    a.netlink.remove_link(a.index("eth0").await).await.unwrap();
    owned.remove_all().await.unwrap();
    assert_eq!(a.netlink.own_routes().await.unwrap(), []);
    assert_eq!(a.netlink.own_rules().await.unwrap(), []);
}

#[tokio::test]
async fn what_was_there_before_is_an_error_and_stays() {
    let (a, _b) = host("before").await;
    let before = everything(&a);
    let mut owned = Owned::new(a.netlink.clone());
    let index = a.index("eth0").await;
    assert!(owned.add_address(index, net("10.9.0.1/24")).await.unwrap_err().is_exists());
    let route = Route { metric: Some(7), ..Route::out_of(index, net("10.1.0.0/16")) };
    assert!(owned.add_route(route).await.unwrap_err().is_exists());
    owned.remove_all().await.unwrap();
    assert_eq!(everything(&a), before);
}

#[tokio::test]
async fn single_objects_are_removed_when_asked() {
    let (a, _b) = host("single").await;
    let index = a.index("eth0").await;
    let before = everything(&a);
    let mut owned = Owned::new(a.netlink.clone());
    create(&a, &mut owned).await;
    // Reverse order, since the first address of a network takes the others with it.
    for address in ["fd00:8::1/64", "10.8.0.2/24", "10.8.0.1/24"] {
        owned.remove_address(index, net(address)).await.unwrap();
    }
    for destination in ["10.1.0.0/16", "10.2.0.0/16", "fd02::/32"] {
        owned.remove_route(&Route::out_of(index, net(destination))).await.unwrap();
    }
    owned.remove_rule(&Rule::between(ip("10.8.0.1"), ip("10.2.0.1"), 100)).await.unwrap();
    // Not ours: nothing happens.
    owned.remove_address(index, net("10.9.0.1/24")).await.unwrap();
    let (local, remote, interface) = (ip("10.0.0.1"), ip("10.0.0.2"), "eth0".to_owned());
    owned.remove_path(&PathRouting { local, remote, interface, gateway: None }).await.unwrap();
    assert!(owned.is_empty());
    assert_eq!(everything(&a), before);
}

#[tokio::test]
async fn routes_keep_their_owner_when_their_mtu_changes() {
    let (a, _b) = host("mtu").await;
    let index = a.index("eth0").await;
    let before = everything(&a);
    let mut owned = Owned::new(a.netlink.clone());
    create(&a, &mut owned).await;
    let made = a.netlink.own_routes().await.unwrap().into_iter();
    let made: Vec<Route> = made.filter(|route| route.table == MAIN_TABLE).collect();
    for network in ["10.80.0.0/16", "fd00:80::/32"] {
        let route = Route::out_of(index, net(network));
        owned.put_route(route.clone()).await.unwrap();
        for mtu in [Some(1400), None, Some(1300)] {
            owned.put_route(Route { mtu, ..route.clone() }).await.unwrap();
        }
    }
    let own = a.netlink.own_routes().await.unwrap().into_iter();
    let own: Vec<Route> = own.filter(|route| !made.contains(route)).collect();
    let in_main = own.iter().filter(|route| route.table == MAIN_TABLE);
    assert_eq!(in_main.map(|route| route.mtu).collect::<Vec<_>>(), [Some(1300); 2]);
    owned.remove_route(&Route::out_of(index, net("10.80.0.0/16"))).await.unwrap();
    assert!(!a.ip("route").contains("10.80.0.0/16"), "whatever its MTU");
    owned.remove_all().await.unwrap();
    assert_eq!(everything(&a), before);
}

#[tokio::test]
async fn what_a_killed_daemon_left_behind_goes_and_what_a_running_one_has_stays() {
    let (a, b) = host("killed").await;
    a.ip("rule del priority 4754");
    b.add_address("eth0", "10.0.0.3/24").await;
    let before = everything(&a);
    let path = |remote| PathRouting {
        local: ip("10.0.0.1"),
        remote: ip(remote),
        interface: "eth0".to_owned(),
        gateway: None,
    };
    let mut killed = Owned::new(a.netlink.clone());
    let mut running = Owned::new(a.netlink.clone());
    let uplink = Uplink { interface: "eth0".to_owned(), ipv6: false };
    let interface = a.index("eth0").await;
    let internet = Internet { interface, source: None, ipv6: true, blocks: false };
    killed.set_mark(7).await.unwrap();
    let error = running.set_mark(7).await.unwrap_err();
    assert!(error.to_string().starts_with("mark 0x7 is that of another"), "{error}");
    running.set_mark(8).await.unwrap();
    killed.add_path(path("10.0.0.2")).await.unwrap();
    killed.add_uplink(uplink.clone()).await.unwrap();
    killed.add_internet(internet.clone()).await.unwrap();
    running.add_path(path("10.0.0.3")).await.unwrap();
    running.add_uplink(uplink).await.unwrap();
    running.add_internet(internet).await.unwrap();
    a.netlink.remove_leftovers().await.unwrap();
    assert_eq!(a.netlink.own_rules().await.unwrap().len(), 10, "both are running");
    drop(killed);

    a.netlink.remove_leftovers().await.unwrap();
    let rules = a.netlink.own_rules().await.unwrap();
    assert_eq!(rules.len(), 5, "{rules:?}");
    assert!(rules.iter().any(|rule| rule.destination == Some(net("10.0.0.3/32"))));
    running.remove_all().await.unwrap();
    assert_eq!(everything(&a), before);
}

#[tokio::test]
async fn a_guard_outlives_its_daemon_and_is_taken_over() {
    let (a, _b) = host("guard").await;
    let before = everything(&a);
    let networks = [net("10.80.0.0/16"), net("fd00:80::/32")];
    let guards = async || a.netlink.own_routes().await.unwrap();
    let mut killed = Owned::new(a.netlink.clone());
    for network in networks {
        killed.add_guard(network).await.unwrap();
    }
    let made = guards().await;
    assert_eq!(made.iter().map(|guard| guard.destination).collect::<Vec<_>>(), networks);
    assert!(made.iter().all(Route::is_guard), "{made:?}");
    let mut running = Owned::new(a.netlink.clone());
    running.add_guard(networks[0]).await.unwrap();
    assert_eq!(guards().await.len(), 3, "each daemon has its own");
    running.remove_guard(networks[0]).await.unwrap();
    assert_eq!(guards().await, made);

    drop(killed);
    a.netlink.remove_leftovers_but_blocks().await.unwrap();
    assert_eq!(guards().await, made, "they stay while the next one starts");
    let mut next = Owned::new(a.netlink.clone());
    next.add_guard(networks[0]).await.unwrap();
    assert_eq!(guards().await, made);
    next.remove_leftovers().await.unwrap();
    assert_eq!(guards().await, made[..1], "what is not needed any more goes");
    // A route that another program removes is missed, and a refresh puts it back.
    a.ip("route del unreachable 10.80.0.0/16");
    assert!(next.misses(&Event::OwnRouteRemoved(made[0].clone())));
    let (put_back, errors) = next.refresh().await;
    assert_eq!((put_back.len(), errors.len()), (1, 0), "{put_back:?} {errors:?}");
    assert_eq!(guards().await, made[..1]);
    next.remove_all().await.unwrap();
    assert_eq!(everything(&a), before);
}
