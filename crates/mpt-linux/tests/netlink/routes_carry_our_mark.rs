//! Routes are recognised as ours, and look-ups say how packets go.

use mpt_linux::netlink::{Lookup, MAIN_TABLE, PROTOCOL, Query, Route, Rule, Via};

use crate::network::{Host, cable, ip, net};

#[tokio::test]
async fn the_kernel_lists_them_as_they_were_added() {
    let (a, b) = (Host::new("list-a").await, Host::new("list-b").await);
    cable((&a, "left", "10.0.0.1/24"), (&b, "right", "10.0.0.2/24")).await;
    a.add_address("left", "fd00::1/64").await;
    let index = a.index("left").await;
    let routes = [
        Route {
            mtu: Some(1464),
            source: Some(ip("10.0.0.1")),
            metric: Some(50),
            ..Route::out_of(index, net("10.1.0.0/16"))
        },
        Route {
            via: Via::Interface { index, gateway: Some(ip("10.0.0.2")), onlink: false },
            table: 70_000,
            ..Route::out_of(index, net("0.0.0.0/0"))
        },
        Route {
            via: Via::Interface { index, gateway: Some(ip("192.0.2.1")), onlink: true },
            table: 100,
            ..Route::out_of(index, net("10.2.0.0/16"))
        },
        Route { via: Via::Unreachable, ..Route::out_of(index, net("10.3.0.0/16")) },
        Route {
            mtu: Some(1444),
            metric: Some(1024),
            source: Some(ip("fd00::1")),
            ..Route::out_of(index, net("fd01::/16"))
        },
        Route {
            via: Via::Interface { index, gateway: Some(ip("fd00::2")), onlink: false },
            metric: Some(7),
            table: 70_000,
            ..Route::out_of(index, net("fd02::/32"))
        },
    ];
    for route in &routes {
        a.netlink.add_route(route).await.unwrap();
    }
    let listed = a.netlink.own_routes().await.unwrap();
    assert_eq!(listed.len(), routes.len(), "{listed:#?}");
    for route in &routes {
        assert!(listed.contains(route), "{route} is not in {listed:#?}");
    }
    let shown = a.ip(&format!("route show proto {PROTOCOL}"));
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(
        shown.contains("10.1.0.0/16 dev left scope link src 10.0.0.1 metric 50 mtu 1464"),
        "{shown}"
    );

    for route in &routes {
        a.netlink.remove_route(route).await.unwrap();
    }
    assert_eq!(a.netlink.own_routes().await.unwrap(), []);
}

#[tokio::test]
async fn removing_one_of_ours_spares_an_equal_one_of_somebody_else() {
    let host = Host::new("foreign").await;
    host.ip("route add 10.1.0.0/16 dev lo proto static");
    let route = Route::out_of(host.index("lo").await, net("10.1.0.0/16"));
    assert!(host.netlink.remove_route(&route).await.unwrap_err().is_gone());
    assert!(host.ip("route show").contains("10.1.0.0/16"));
}

#[tokio::test]
async fn a_lookup_tells_interface_gateway_source_and_mtu() {
    let (a, b) = (Host::new("look-a").await, Host::new("look-b").await);
    cable((&a, "left", "10.0.0.1/24"), (&b, "right", "10.0.0.2/24")).await;
    let interface = a.index("left").await;
    let lookup = async |destination| a.netlink.lookup(Query::to(ip(destination))).await.unwrap();
    let neighbour = Lookup {
        interface,
        gateway: None,
        source: Some(ip("10.0.0.1")),
        mtu: 1500,
        table: MAIN_TABLE,
    };
    assert_eq!(lookup("10.0.0.2").await, neighbour);

    let gateway = Some(ip("10.0.0.2"));
    a.netlink
        .add_route(&Route {
            via: Via::Interface { index: interface, gateway, onlink: false },
            mtu: Some(1280),
            ..Route::out_of(interface, net("0.0.0.0/0"))
        })
        .await
        .unwrap();
    assert_eq!(lookup("192.0.2.1").await, Lookup { gateway, mtu: 1280, ..neighbour });
}

#[tokio::test]
async fn a_lookup_follows_policy_rules() {
    let (a, b) = (Host::new("rule-a").await, Host::new("rule-b").await);
    cable((&a, "one", "10.0.1.1/24"), (&b, "one", "10.0.1.2/24")).await;
    cable((&a, "two", "10.0.2.1/24"), (&b, "two", "10.0.2.2/24")).await;
    for (name, table) in [("one", MAIN_TABLE), ("two", 70_000)] {
        let route = Route { table, ..Route::out_of(a.index(name).await, net("192.0.2.0/24")) };
        a.netlink.add_route(&route).await.unwrap();
    }
    let rule = Rule {
        mark: Some(7),
        source: None,
        ..Rule::between(ip("10.0.0.0"), ip("192.0.2.1"), 70_000)
    };
    a.netlink.add_rule(&rule).await.unwrap();
    assert_eq!(a.netlink.own_rules().await.unwrap(), [rule]);

    let plain = Query::to(ip("192.0.2.1"));
    let (one, two) = (a.index("one").await, a.index("two").await);
    for (query, interface) in [
        (plain, one),
        (Query { mark: Some(7), ..plain }, two),
        (Query { mark: Some(8), ..plain }, one),
        (Query { interface: Some(one), ..plain }, one),
    ] {
        assert_eq!(a.netlink.lookup(query).await.unwrap().interface, interface, "{query:?}");
    }
}
