//! A connection belongs to the namespace of the thread that opened it, wherever it is used.

use mpt_linux::netlink::{Netlink, VethEnd};

use crate::network::{Host, namespace};

#[tokio::test]
async fn each_sees_its_own_interfaces() {
    let (a, b) = (Host::new("a").await, namespace("b"));
    let ends = [
        VethEnd { name: "only-in-a", namespace: &a.namespace },
        VethEnd { name: "only-in-b", namespace: &b },
    ];
    a.netlink.add_veth(ends[0], ends[1]).await.unwrap();
    let netlinks =
        [a.netlink.clone(), Netlink::connect_in(&b).unwrap(), Netlink::connect().unwrap()];
    let mut seen = Vec::new();
    for netlink in &netlinks {
        for name in ["only-in-a", "only-in-b"] {
            seen.push(netlink.link_exists(name).await.unwrap());
        }
    }
    assert_eq!(seen, [true, false, false, true, false, false]);
}
