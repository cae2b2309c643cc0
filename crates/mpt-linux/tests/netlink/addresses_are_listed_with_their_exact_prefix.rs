//! Addresses are added, listed and removed one by one, and are usable at once.

use std::net::UdpSocket;

use mpt_linux::netlink::Address;
use mpt_linux::netns::run_in;
use mpt_linux::tun::Tun;

use crate::network::{Host, ip, net};

#[tokio::test]
async fn they_come_and_go_one_by_one() {
    let host = Host::new("list").await;
    let lo = host.index("lo").await;
    let nets = ["10.0.0.1/24", "10.0.0.2/24", "192.0.2.9/31", "fd00::1/64", "fd00::2/128"].map(net);
    for net in nets {
        host.netlink.add_address(lo, net).await.unwrap();
    }
    let listed = async || {
        let mut addresses = host.netlink.addresses().await.unwrap();
        addresses.retain(|address| !address.net.addr().is_loopback());
        addresses.sort_by_key(|address| address.net);
        addresses
    };
    let expected = nets.map(|net| Address { interface: lo, net, usable: true });
    assert_eq!(listed().await, expected);
    assert!(!host.ip("address show").contains("brd 10."), "no broadcast address");

    host.netlink.remove_address(lo, nets[1]).await.unwrap();
    host.netlink.remove_address(lo, nets[3]).await.unwrap();
    assert_eq!(listed().await, [expected[0], expected[2], expected[4]]);
}

#[tokio::test]
async fn the_interface_of_an_address_is_found() {
    let host = Host::new("find").await;
    host.add_address("lo", "fd00::1/64").await;
    let lo = host.index("lo").await;
    assert_eq!(host.netlink.interface_of(ip("fd00::1")).await.unwrap(), Some(lo));
    assert_eq!(host.netlink.interface_of(ip("fd00::2")).await.unwrap(), None);
}

#[tokio::test]
async fn an_ipv6_address_of_a_tun_device_is_usable_at_once() {
    let host = Host::new("tun").await;
    let _tun = run_in(&host.namespace, || Tun::create("mpt0")).unwrap().unwrap();
    let index = host.index("mpt0").await;
    assert_eq!(host.netlink.link("mpt0").await.unwrap().kind.as_deref(), Some("tun"));
    host.netlink.set_up(index).await.unwrap();
    host.netlink.add_address(index, net("fd00::1/64")).await.unwrap();
    run_in(&host.namespace, || UdpSocket::bind("[fd00::1]:0")).unwrap().unwrap();
}
