//! A host on the network of line 1 that sends whatever it likes, under whatever address.

use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

use mpt_core::session::{Initiation, PrivateKey, PublicKey, Random};
use mpt_wire::checksum::Sum;
use mpt_wire::control::{Capabilities, Hello, Kind, Name};
use mpt_wire::gre;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::hosts::{Captured, Datagram, Host, Pair};

/// The ends of line 1, as they know each other.
pub(crate) const ENDS: [&str; 2] = ["10.71.1.1:4754", "10.71.1.2:4754"];
/// `IPPROTO_RAW`: packets with a header of our own making.
const RAW: i32 = 255;

/// The host, and what it sends with.
pub(crate) struct Attacker {
    _host: Host,
    raw: Socket,
    /// Its own address, 10.71.1.9:4754.
    pub(crate) own: UdpSocket,
    random: Random,
}

impl Attacker {
    /// Plugs it into the bridge of line 1.
    pub(crate) fn new(pair: &Pair) -> Self {
        let host = Host::new("x");
        let middle = pair.middle();
        host.cable("line1", &["10.71.1.9/24"], (middle, "x1", &[]));
        middle.ip("link set x1 master bridge1");
        let raw = host.run(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(RAW))));
        let own = host.udp("10.71.1.9:4754");
        let random = Random::new([9; 32]);
        Self { _host: host, raw: raw.unwrap(), own, random }
    }

    /// Sends the frame to an end of line 1: from its own address, or as if the other end had sent it.
    pub(crate) fn send(&self, frame: &[u8], to: usize, forged: bool) {
        let payload = [control_header().as_slice(), frame].concat();
        let [from, to] = [ENDS[1 - to], ENDS[to]].map(|it| it.parse::<SocketAddrV4>().unwrap());
        if forged {
            let packet = udp_packet(from, to, &payload);
            let to = SockAddr::from(SocketAddr::from((*to.ip(), 0)));
            assert_eq!(self.raw.send_to(&packet, &to).unwrap(), packet.len());
        } else {
            assert_eq!(self.own.send_to(&payload, to).unwrap(), payload.len());
        }
    }

    /// Returns the packets that came to its own address, until nothing more comes, for three seconds at most.
    pub(crate) fn answers(&self) -> Vec<Vec<u8>> {
        self.own.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut buffer = [0; 4096];
        let start = Instant::now();
        let receive = || {
            let more = start.elapsed() < Duration::from_secs(3);
            let length = more.then(|| self.own.recv(&mut buffer).ok()).flatten()?;
            Some(buffer[..length].to_vec())
        };
        std::iter::from_fn(receive).collect()
    }

    /// Random bytes.
    pub(crate) fn noise(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.random.u32() as u8).collect()
    }

    /// An initiation of a key pair made for it, that knows the public key of whom it is for.
    pub(crate) fn initiation(&mut self, peer: &PublicKey) -> Vec<u8> {
        let own = PrivateKey::from_seed(self.random.bytes());
        let hello = Hello {
            kind: Kind::Connection,
            key: None,
            capabilities: Capabilities::new(),
            name: Name::new("tunnel").unwrap(),
            challenge: None,
            sealing: None,
        };
        let index = self.random.u32();
        let initiation = Initiation::new(&own, peer, None, index, &hello, &mut self.random);
        initiation.unwrap().frame(1, None).to_vec()
    }
}

/// The frames of the control protocol in a capture, by whether they left the host.
pub(crate) fn frames(captured: &[Captured], outgoing: bool) -> Vec<Vec<u8>> {
    let datagrams =
        captured.iter().filter(|it| it.outgoing == outgoing).filter_map(Datagram::parse);
    datagrams.filter(Datagram::is_control).map(|it| it.inner).collect()
}

/// GRE header of a control frame, without key.
fn control_header() -> [u8; 4] {
    let [high, low] = gre::Protocol::CONTROL.0.to_be_bytes();
    [0, 0, high, low]
}

/// IPv4 and UDP, without UDP checksum.
fn udp_packet(from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let udp_len = 8 + payload.len() as u16;
    let mut packet = vec![0x45, 0];
    packet.extend((20 + udp_len).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    packet.extend(from.ip().octets());
    packet.extend(to.ip().octets());
    let mut sum = Sum::new();
    sum.add_bytes(&packet);
    let checksum = sum.finish().to_be_bytes();
    packet[10..12].copy_from_slice(&checksum);
    packet.extend(from.port().to_be_bytes());
    packet.extend(to.port().to_be_bytes());
    packet.extend(udp_len.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}
