//! A peer leaves gaps in its numbers and sends as many packets behind them as the daemon keeps. The packets of another peer still wait for one
//! another, and arrive in order.

use std::net::Ipv4Addr;
use std::time::Duration;

use mpt_core::reorder::Counters;

use crate::data::in_memory::system::network::{Network, address, line, plain};
use crate::data::in_memory::system::packets::{self, Form};
use crate::data::in_memory::system::sockets::Datagram;

/// Bytes of each packet's content.
const CONTENT: usize = 1400;
/// Packets that the greedy peer sends at a time; fewer than the other one has waiting.
const BATCH: u32 = 10;
/// Packets of the other peer that wait for the one before them.
const WAITING: u32 = 100;

/// The other end of a connection.
struct Peer {
    connection: &'static str,
    line: usize,
    form: Form,
}

impl Peer {
    fn new(network: &Network, connection: &'static str, line: usize, from: Ipv4Addr) -> Self {
        let port = 5000 + line as u16;
        let form = Form { from, port, payload: CONTENT, ..network.hosts[0].form };
        Self { connection, line, form }
    }

    fn send(&self, network: &mut Network, number: u32) {
        let to = network.hosts[1].socket(self.line, 1).borrow().local;
        let from = (address(self.line, 0), to.port()).into();
        let bytes = packets::datagram(&self.form, number, number.into());
        network.inject(1, Datagram { from, to, tos: 0, bytes });
    }

    fn reorder(&self, network: &Network) -> Counters {
        let tunnels = network.hosts[1].data.node.tunnels();
        let id = tunnels.find_connection(self.connection).expect("it is configured");
        let connection = tunnels.connection(id).expect("it is configured");
        *connection.reorder().expect("it has numbers").counters()
    }
}

/// Sends every other number from `next` on until something could not wait, at most `most` packets; gives how many packets waited.
fn fill(network: &mut Network, peer: &Peer, next: &mut u32, most: u32) -> u32 {
    let before = peer.reorder(network).overflow;
    let mut waiting = 0;
    while waiting + BATCH <= most {
        for _ in 0..BATCH {
            *next += 2;
            peer.send(network, *next);
        }
        if peer.reorder(network).overflow > before {
            break;
        }
        waiting += BATCH;
    }
    waiting
}

#[test]
fn of_a_connection_beside_it() {
    let reorder = "window = 65535\nmax_delay = \"10 s\"\nearly_release = false";
    let other = Ipv4Addr::new(10, 73, 0, 1);
    let text = format!(
        "{}\n[[connection]]\nname = \"other\"\ndevice = \"mpt0\"\nnetworks = [\"{other}/32\"]\n{reorder}\n\
         [[connection.path]]\nname = \"line2\"\nlocal = \"{}\"\nremote = \"{}\"\n",
        plain(1, 1, reorder),
        address(1, 1),
        address(1, 0),
    );
    let text = format!("[daemon]\nbuffer_limit = \"4 MiB\"\n{text}");
    let mut network = Network::with(22, &[line(5), line(5)], [plain(0, 2, ""), text]);
    let own = network.hosts[0].form.from;
    let greedy = Peer::new(&network, "tunnel", 0, own);
    let other = Peer::new(&network, "other", 1, other);
    other.send(&mut network, 0);
    greedy.send(&mut network, 0);
    let mut next = 0;
    // Once to learn how many may wait, and once to leave room for no more than a few. Some of the last batch wait already.
    let most = fill(&mut network, &greedy, &mut next, u32::MAX - BATCH) - 2 * BATCH;
    let waiting = fill(&mut network, &greedy, &mut next, most);
    assert_eq!(waiting, most, "nearly as many may wait as before");

    for number in 2..2 + WAITING {
        other.send(&mut network, number);
    }
    let overflow = other.reorder(&network).overflow;
    assert_eq!(overflow, 0, "packets that could not wait beside {waiting} of another peer");
    other.send(&mut network, 1);
    network.run(Duration::from_millis(1));
    let received = network.hosts[1].received.iter().filter(|it| it.port == other.form.port);
    let numbers: Vec<u64> = received.map(|it| it.number).collect();
    assert_eq!(numbers, Vec::from_iter(0..u64::from(2 + WAITING)), "all, in order");
}
