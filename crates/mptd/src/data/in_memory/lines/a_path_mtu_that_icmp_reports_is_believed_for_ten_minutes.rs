//! Without a session nothing but ICMP tells the MTU of a path, and nobody tells when it is larger again: a report holds for ten minutes.

use std::net::SocketAddr;
use std::time::Duration;

use mpt_linux::udp::{PathError, PathErrorKind};

use crate::data::in_memory::system::network::{Network, address, line, text};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
/// Bytes of the UDP payload in a quote that ends with the UDP header.
const SHORT: usize = 0;
/// Bytes of the UDP payload in a quote that has the GRE header with its sequence number.
const WHOLE: usize = 8;

/// Returns a configuration without a session.
fn plain(side: usize) -> String {
    let text = text(side, 1, "");
    let is_of_peer = |line: &&str| {
        ["[connection.peer]", "public_key", "initiate"].iter().any(|it| line.starts_with(it))
    };
    text.lines().filter(|line| !is_of_peer(line)).collect::<Vec<_>>().join("\n")
}

impl Network {
    /// Has a router say to the first host that a datagram was too big of which it quotes so many bytes of payload.
    fn report(&mut self, mtu: u32, quoted: usize) {
        self.captured = Some(Vec::new());
        self.send(0, 1000, 10, MILLISECOND);
        let datagram = self.captured.take().unwrap().pop().expect("data");
        let remote = SocketAddr::new(address(0, 1), datagram.to.port());
        let kind = PathErrorKind::TooBig { mtu };
        let error = PathError { kind, remote, local: false, quoted };
        let sockets = self.hosts[0].system.sockets();
        let socket = sockets.iter().find(|it| it.borrow().local == datagram.from);
        socket
            .expect("it is open")
            .borrow_mut()
            .errors
            .push_back((error, datagram.bytes[..quoted].to_vec()));
        self.run(MILLISECOND);
    }

    /// Returns the MTU that the first host uses its path with.
    fn mtu(&self) -> u16 {
        let tunnels = self.hosts[0].data.node.tunnels();
        tunnels.paths().map(|(_, path)| path.mtu()).next().expect("a path")
    }
}

/// Reports an MTU, and expects that this one is used for ten minutes.
fn holds(reported: u32, quoted: usize, used: u16) {
    let mut network = Network::with(3, &[line(5)], [plain(0), plain(1)]);
    network.run(3 * SECOND);
    assert_eq!(network.mtu(), 1500);
    network.report(reported, quoted);
    for second in 0..598 {
        assert_eq!(network.mtu(), used, "after {second} s");
        network.run(SECOND);
    }
    network.run(3 * SECOND);
    assert_eq!(network.mtu(), 1500, "after ten minutes");
}

#[test]
fn with_a_whole_quote() {
    holds(1000, WHOLE, 1000);
}

/// An inner packet of 1,280 bytes still fits.
#[test]
fn with_a_short_quote_within_limits() {
    holds(1000, SHORT, 1316);
}
