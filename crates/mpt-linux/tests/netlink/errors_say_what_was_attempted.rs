//! The text of an error is enough to know what to do.

use mpt_linux::netlink::{Error, Owned, PathRouting, Query, Route, Rule, Uplink};

use crate::network::{Host, ip, net};

#[tokio::test]
async fn an_address_that_is_there_already() {
    let host = Host::new("address").await;
    host.add_address("lo", "10.0.0.1/24").await;
    let lo = host.index("lo").await;
    let error = host.netlink.add_address(lo, net("10.0.0.1/24")).await.unwrap_err();
    assert!(error.is_exists());
    assert_eq!(error.to_string(), "add address 10.0.0.1/24 to lo: File exists (os error 17)");
}

#[tokio::test]
async fn an_address_that_is_not_there() {
    let host = Host::new("missing").await;
    let lo = host.index("lo").await;
    let error = host.netlink.remove_address(lo, net("fd00::1/64")).await.unwrap_err();
    assert!(error.is_gone());
    assert!(error.to_string().starts_with("remove address fd00::1/64 from lo: "), "{error}");
}

#[tokio::test]
async fn an_interface_that_does_not_exist() {
    let host = Host::new("interface").await;
    for name in ["eth7", "", "a-name-much-too-long"] {
        let error = host.netlink.link(name).await.unwrap_err();
        assert_eq!(error.to_string(), format!("there is no interface {name}"));
    }
    assert!(!host.netlink.link_exists("eth7").await.unwrap());
    let error = host.netlink.set_mtu(4711, 1400).await.unwrap_err();
    assert!(error.is_gone());
    assert!(error.to_string().starts_with("set mtu 1400 on interface #4711: No such device"));
}

#[tokio::test]
async fn a_route_and_a_rule_that_are_there_already() {
    let host = Host::new("route").await;
    let route = Route::out_of(host.index("lo").await, net("10.1.0.0/16"));
    host.netlink.add_route(&route).await.unwrap();
    let error = host.netlink.add_route(&route).await.unwrap_err();
    assert!(error.is_exists());
    assert_eq!(error.to_string(), "add route 10.1.0.0/16 dev #1: File exists (os error 17)");

    let rule = Rule::between(ip("10.0.0.1"), ip("10.0.0.2"), 1000);
    host.netlink.add_rule(&rule).await.unwrap();
    let error = host.netlink.add_rule(&rule).await.unwrap_err();
    assert!(error.is_exists());
    assert_eq!(
        error.to_string(),
        "add rule 4754: from 10.0.0.1/32 to 10.0.0.2/32 lookup 1000: File exists (os error 17)"
    );
}

#[tokio::test]
async fn a_destination_without_a_route() {
    let host = Host::new("lookup").await;
    let error = host.netlink.lookup(Query::to(ip("192.0.2.1"))).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "look up the route to 192.0.2.1: Network is unreachable (os error 101)"
    );
}

#[tokio::test]
async fn a_path_without_a_route() {
    let host = Host::new("path").await;
    let mut owned = Owned::new(host.netlink.clone());
    let path = |local, remote| PathRouting {
        local: ip(local),
        remote: ip(remote),
        interface: "lo".to_owned(),
        gateway: None,
    };
    let error = owned.add_path(path("10.0.0.1", "192.0.2.1")).await.unwrap().unwrap();
    assert!(matches!(error, Error::NoRoute { .. }) && error.is_no_way(), "{error}");
    assert!(error.to_string().starts_with("no route to 192.0.2.1 leaves by lo: "), "{error}");
    let error = owned.add_path(path("10.0.0.1", "2001:db8::1")).await.unwrap_err();
    assert!(matches!(error, Error::MixedVersions(_)), "{error}");
    let uplink = Uplink { interface: "lo".to_owned(), ipv6: false };
    owned.set_mark(9).await.unwrap();
    let error = owned.add_uplink(uplink).await.unwrap().unwrap();
    assert!(error.to_string().starts_with("no default route of IPv4 leaves by lo: "), "{error}");
    owned.remove_all().await.unwrap();
    assert!(owned.is_empty());
    assert_eq!(host.ip("rule show").lines().count(), 3, "nothing is left behind");
}
