//! A server at `b` with two clients: anna at `a`, bob on a host of his own.

use std::net::{IpAddr, UdpSocket};

use mpt_wire::checksum::Sum;
use mpt_wire::gre;

use crate::concentrator::{self, admit, assigned, created};
use crate::hosts::{Config, Daemon, Host, Identity, Line, Pair, Pulse};

/// The addresses at which the server listens for anna and for bob.
const LISTEN: [&str; 2] = ["10.71.1.2", "10.71.9.2"];

/// The hosts and what the daemons on them are started with.
pub(crate) struct Office {
    pub(crate) pair: Pair,
    /// The host of bob.
    pub(crate) c: Host,
    pub(crate) server: Identity,
    pub(crate) clients: [Identity; 2],
    /// The file of the server.
    pub(crate) config: Config,
}

/// The daemons.
pub(crate) struct Running {
    pub(crate) server: Daemon,
    pub(crate) anna: Daemon,
    pub(crate) bob: Daemon,
}

impl Office {
    pub(crate) fn new() -> Self {
        let pair = Pair::new(&[Line::plain()]);
        let c = Host::new("c");
        c.cable("line9", &["10.71.9.1/24"], (&pair.b, "line9", &["10.71.9.2/24"]));
        let server = Identity::new();
        let clients = [Identity::new(), Identity::new()];
        let mut config = concentrator::server(&server, &LISTEN);
        for (name, client) in ["anna", "bob"].into_iter().zip(&clients) {
            admit(&mut config, name, client);
        }
        Self { pair, c, server, clients, config }
    }

    /// The file of client 0, anna, or 1, bob.
    pub(crate) fn client(&self, number: usize) -> Config {
        let mut config = concentrator::client(&self.clients[number], &self.server);
        let line = [1, 9][number];
        let path = config.path("office", "line").set("local", format!("10.71.{line}.1"));
        path.set("remote", LISTEN[number]);
        config
    }

    /// Starts all three; both connections are created and up.
    pub(crate) fn start(&self) -> Running {
        let server = Daemon::start(&self.pair.b, &self.config);
        let anna = Daemon::start(&self.pair.a, &self.client(0));
        let bob = Daemon::start(&self.c, &self.client(1));
        created(&server, "anna.office");
        created(&server, "bob.office");
        created(&anna, "office");
        created(&bob, "office");
        Running { server, anna, bob }
    }

    /// Datagrams through the tunnel of a client, from there to the server and back.
    pub(crate) fn pulses(&self, number: usize, client: &Daemon) -> [Pulse; 2] {
        let host = [&self.pair.a, &self.c][number];
        let address = assigned(client);
        let [up, down] = [5000 + 2 * number, 5001 + 2 * number];
        let [here, there] = [up, down].map(|port| format!("{address}:{port}"));
        let [to, from] = [up, down].map(|port| format!("10.72.0.2:{port}"));
        [
            Pulse::start((host, &here), (&self.pair.b, &to)),
            Pulse::start((&self.pair.b, &from), (host, &there)),
        ]
    }
}

/// Somebody who has the address of an end of a path, and sends data as that end did.
pub(crate) struct Forger {
    socket: UdpSocket,
    to: String,
    datagram: Vec<u8>,
}

impl Forger {
    /// `socket`: at the end's outer address; `to`: the other end. The packets are UDP from `source` to `destination` inside.
    pub(crate) fn new(
        socket: UdpSocket,
        to: &str,
        key: Option<u32>,
        [source, destination]: [(IpAddr, u16); 2],
    ) -> Self {
        let header =
            gre::Repr { protocol: gre::Protocol::IPV4, checksum: false, key, sequence: None };
        let mut datagram = vec![0; header.header_len()];
        header.emit(&mut datagram);
        datagram.extend(inner(source, destination));
        Self { socket, to: to.to_owned(), datagram }
    }

    /// Sends so many of them.
    pub(crate) fn send(&self, count: usize) {
        for _ in 0..count {
            self.socket.send_to(&self.datagram, &self.to).unwrap();
        }
    }
}

/// A UDP packet of 8 bytes over IPv4, without UDP checksum.
fn inner(source: (IpAddr, u16), destination: (IpAddr, u16)) -> Vec<u8> {
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(_) => unreachable!("the tests are over IPv4"),
    };
    let mut packet = vec![0x45, 0, 0, 36, 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet.extend(octets(source.0));
    packet.extend(octets(destination.0));
    let mut sum = Sum::new();
    sum.add_bytes(&packet);
    packet[10..12].copy_from_slice(&sum.finish().to_be_bytes());
    packet.extend(source.1.to_be_bytes());
    packet.extend(destination.1.to_be_bytes());
    packet.extend([0, 16, 0, 0]);
    packet.extend(0_u64.to_be_bytes());
    packet
}

/// Returns the number of datagrams that come until none does for a second, for five seconds at most.
pub(crate) fn count_arriving(socket: &UdpSocket) -> usize {
    use std::time::{Duration, Instant};
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let (start, mut buffer) = (Instant::now(), [0; 2000]);
    let more = || start.elapsed() < Duration::from_secs(5);
    std::iter::from_fn(|| more().then(|| socket.recv(&mut buffer).ok()).flatten()).count()
}
