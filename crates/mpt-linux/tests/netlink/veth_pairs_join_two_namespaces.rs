//! The cables of the laboratory carry datagrams and can be shaped.

use mpt_linux::netlink::VethEnd;
use mpt_linux::netns::tc;

use crate::network::{Host, cable, exchange};

#[tokio::test]
async fn datagrams_go_from_one_end_to_the_other() {
    let (a, b) = (Host::new("data-a").await, Host::new("data-b").await);
    cable((&a, "left", "10.0.0.1/24"), (&b, "right", "10.0.0.2/24")).await;
    let (from, to) = (a.socket("10.0.0.1:0"), b.socket("10.0.0.2:0"));
    assert_eq!(exchange(&from, &to), (b"hello".to_vec(), from.local_addr().unwrap()));
}

#[tokio::test]
async fn an_ipv6_address_is_usable_at_once() {
    let (a, b) = (Host::new("v6-a").await, Host::new("v6-b").await);
    cable((&a, "left", "fd00::1/64"), (&b, "right", "fd00::2/64")).await;
    let (from, to) = (a.socket("[fd00::1]:0"), b.socket("[fd00::2]:0"));
    assert_eq!(exchange(&from, &to).0, b"hello");
}

#[tokio::test]
async fn setting_one_end_down_takes_the_carrier_of_the_other() {
    let (a, b) = (Host::new("down-a").await, Host::new("down-b").await);
    cable((&a, "left", "10.0.0.1/24"), (&b, "right", "10.0.0.2/24")).await;
    let link = a.netlink.link("left").await.unwrap();
    assert_eq!((link.up, link.running, link.kind.as_deref()), (true, true, Some("veth")));
    b.netlink.set_down(b.index("right").await).await.unwrap();
    let link = a.netlink.link("left").await.unwrap();
    assert_eq!((link.up, link.running), (true, false));
}

#[tokio::test]
async fn an_end_moves_and_is_renamed() {
    let (a, b) = (Host::new("move-a").await, Host::new("move-b").await);
    let ends = ["one", "two"].map(|name| VethEnd { name, namespace: &a.namespace });
    a.netlink.add_veth(ends[0], ends[1]).await.unwrap();
    a.netlink.move_link(a.index("two").await, &b.namespace).await.unwrap();
    assert!(!a.netlink.link_exists("two").await.unwrap());
    b.netlink.rename_link(b.index("two").await, "eth0").await.unwrap();
    assert!(b.netlink.link_exists("eth0").await.unwrap());
}

#[tokio::test]
async fn the_properties_of_an_end_are_set() {
    let (a, b) = (Host::new("set-a").await, Host::new("set-b").await);
    cable((&a, "left", "10.0.0.1/24"), (&b, "right", "10.0.0.2/24")).await;
    let index = a.index("left").await;
    a.netlink.set_mtu(index, 1400).await.unwrap();
    a.netlink.set_tx_queue_len(index, 77).await.unwrap();
    a.netlink.set_gso_max_size(index, 30_000).await.unwrap();
    let link = a.netlink.link_by_index(index).await.unwrap();
    assert_eq!((link.mtu, link.tx_queue_len, link.gso_max_size), (1400, Some(77), Some(30_000)));
}

#[tokio::test]
async fn tc_shapes_an_end() {
    let (a, b) = (Host::new("tc-a").await, Host::new("tc-b").await);
    cable((&a, "left", "10.0.0.1/24"), (&b, "right", "10.0.0.2/24")).await;
    let shaper = "qdisc add dev left root tbf rate 100mbit burst 64kb latency 50ms";
    tc(&a.namespace, &shaper.split(' ').collect::<Vec<_>>()).unwrap();
    let shown = a.namespace.command("tc").unwrap().args(["qdisc", "show"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("tbf") && shown.contains("rate 100Mbit"), "{shown}");

    let error = tc(&a.namespace, &["qdisc", "add", "dev", "none", "root", "tbf"]).unwrap_err();
    assert!(
        error.to_string().starts_with("tc qdisc add dev none root tbf: exit status"),
        "{error}"
    );
}
