//! A peer leaves gaps in its numbers and sends as many packets behind them as the daemon keeps. The packets of another peer still wait for one
//! another, and arrive in order.

use std::net::UdpSocket;

use crate::hosts::{Daemon, Pair, wait_for};
use crate::support::{gre, udp_packet};

/// Bytes of each packet's content.
const CONTENT: usize = 1400;
/// Packets that the greedy peer sends at a time; fewer than the other one has waiting.
const BATCH: u32 = 10;
/// Packets of the other peer that wait for the one before them.
const WAITING: u32 = 100;

/// The other end of a connection.
struct Peer<'a> {
    daemon: &'a Daemon,
    socket: UdpSocket,
    connection: &'static str,
    /// The daemon's outer address, the peer's inner one, and the daemon's.
    addresses: [String; 3],
    sent: u64,
}

impl<'a> Peer<'a> {
    fn new(pair: &Pair, daemon: &'a Daemon, connection: &'static str, line: u8) -> Self {
        let socket = pair.b.udp(&format!("10.71.{line}.2:0"));
        let network = if line == 1 { "10.72.0" } else { "10.73.0" };
        let addresses =
            [format!("10.71.{line}.1:4754"), format!("{network}.2"), format!("{network}.1")];
        Self { daemon, socket, connection, addresses, sent: 0 }
    }

    fn send(&mut self, number: u32) {
        let [outer, source, destination] = &self.addresses;
        let mut content = vec![0; CONTENT];
        content[..4].copy_from_slice(&number.to_be_bytes());
        let inner = udp_packet(source, destination, 5000, &content);
        self.socket.send_to(&[gre(number), inner].concat(), outer).unwrap();
        self.sent += 1;
    }

    /// Waits until the daemon has read everything; gives how often it could not let one of this peer's packets wait.
    fn overflow(&self) -> u64 {
        wait_for("everything is read", || {
            let reorder = self.daemon.connection(self.connection).reorder;
            let judged = reorder.in_order + reorder.after_gap + reorder.late + reorder.overflow;
            (judged + reorder.waiting == self.sent).then_some(reorder.overflow)
        })
    }
}

/// Sends every other number from `next` on until something could not wait, at most `most` packets; gives how many packets waited.
fn fill(peer: &mut Peer<'_>, next: &mut u32, most: u32) -> u32 {
    let before = peer.overflow();
    let mut waiting = 0;
    while waiting + BATCH <= most {
        for _ in 0..BATCH {
            *next += 2;
            peer.send(*next);
        }
        if peer.overflow() > before {
            break;
        }
        waiting += BATCH;
    }
    waiting
}

#[test]
fn of_a_connection_beside_it() {
    let pair = Pair::with_lines(2);
    let mut config = pair.configs()[0].clone();
    config.daemon().set("buffer_limit", "4 MiB");
    config.remove("tunnel", Some("line2"));
    config.device("mpt0").set("addresses", vec!["10.72.0.1/24", "10.73.0.1/24"]);
    config.connection("tunnel").set("networks", vec!["10.72.0.0/24"]);
    config.connection("other").set("networks", vec!["10.73.0.0/24"]);
    config.lay_path("other", 2, 1);
    for name in ["tunnel", "other"] {
        let connection = config.connection(name).set("window", 65_535).set("max_delay", "10 s");
        connection.set("early_release", false);
    }
    let mut daemon = Daemon::start(&pair.a, &config);
    daemon.wait_until_up();
    {
        let mut greedy = Peer::new(&pair, &daemon, "tunnel", 1);
        let mut other = Peer::new(&pair, &daemon, "other", 2);
        let receiver = pair.a.udp("10.73.0.1:5000");
        other.send(0);
        greedy.send(0);
        let mut next = 0;
        // Once to learn how many may wait, and once to leave room for no more than a few. Some of the last batch wait already.
        let most = fill(&mut greedy, &mut next, u32::MAX - BATCH) - 2 * BATCH;
        let waiting = fill(&mut greedy, &mut next, most);
        assert_eq!(waiting, most, "nearly as many may wait as before");

        for number in 2..2 + WAITING {
            other.send(number);
        }
        assert_eq!(
            other.overflow(),
            0,
            "packets that could not wait beside {waiting} of another peer"
        );
        other.send(1);
        let mut buffer = [0; CONTENT];
        for expected in 0..2 + WAITING {
            receiver.recv(&mut buffer).expect("every packet arrives");
            let number = u32::from_be_bytes(buffer[..4].try_into().unwrap());
            assert_eq!(number, expected, "in order");
        }
    }
    daemon.stop();
}
