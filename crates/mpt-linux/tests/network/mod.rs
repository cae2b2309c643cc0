//! Hosts of the tests: network namespaces that go away with the test, also when it panics.
#![allow(dead_code, reason = "every test file uses a part of this")]

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ipnet::IpNet;
use mpt_linux::netlink::{Netlink, VethEnd};
use mpt_linux::netns::{Namespace, run_in};

/// A network namespace and its configuration.
pub(crate) struct Host {
    pub(crate) namespace: Namespace,
    pub(crate) netlink: Netlink,
}

impl Host {
    /// A host with nothing but its loopback interface up. `label` is part of its name.
    pub(crate) async fn new(label: &str) -> Self {
        let namespace = namespace(label);
        let netlink = Netlink::connect_in(&namespace).unwrap();
        let host = Self { namespace, netlink };
        host.netlink.set_up(host.index("lo").await).await.unwrap();
        host
    }

    pub(crate) async fn index(&self, interface: &str) -> u32 {
        self.netlink.link(interface).await.unwrap().index
    }

    pub(crate) async fn add_address(&self, interface: &str, address: &str) {
        let index = self.index(interface).await;
        self.netlink.add_address(index, net(address)).await.unwrap();
    }

    /// Returns the output of `ip` in this namespace: an opinion other than ours.
    pub(crate) fn ip(&self, arguments: &str) -> String {
        let mut command = self.namespace.command("ip").unwrap();
        let output = command.args(arguments.split(' ')).output().unwrap();
        assert!(output.status.success(), "ip {arguments}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A UDP socket of this host.
    pub(crate) fn socket(&self, local: &str) -> UdpSocket {
        let local: SocketAddr = local.parse().unwrap();
        let socket = run_in(&self.namespace, || UdpSocket::bind(local)).unwrap();
        let socket = socket.unwrap_or_else(|error| panic!("bind {local}: {error}"));
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket
    }
}

/// A namespace whose name no other test and no other run has. Fails without privileges.
pub(crate) fn namespace(label: &str) -> Namespace {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    require_root();
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    Namespace::create(&format!("mpt-linux-{}-{number}-{label}", std::process::id())).unwrap()
}

/// Tests that need privileges fail without: they are never skipped.
pub(crate) fn require_root() {
    assert!(nix::unistd::geteuid().is_root(), "this test makes network namespaces: run it as root");
}

/// A cable between two hosts, both ends up, each with one address.
pub(crate) async fn cable(left: (&Host, &str, &str), right: (&Host, &str, &str)) {
    left.0
        .netlink
        .add_veth(
            VethEnd { name: left.1, namespace: &left.0.namespace },
            VethEnd { name: right.1, namespace: &right.0.namespace },
        )
        .await
        .unwrap();
    for (host, interface, address) in [left, right] {
        host.add_address(interface, address).await;
        host.netlink.set_up(host.index(interface).await).await.unwrap();
    }
}

pub(crate) fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Sends a datagram and returns what arrived, with its sender.
pub(crate) fn exchange(from: &UdpSocket, to: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    from.send_to(b"hello", to.local_addr().unwrap()).unwrap();
    let mut buffer = [0; 64];
    let (length, sender) = to.recv_from(&mut buffer).expect("the datagram arrives");
    (buffer[..length].to_vec(), sender)
}
