//! One path, no sequence numbers, no key: the other end may be anything that speaks GRE in UDP. Here it is a plain UDP socket.

use std::net::SocketAddr;

use etherparse::PacketBuilder;

use crate::hosts::{Daemon, Line, Pair};

#[test]
fn a_plain_udp_socket_can_be_the_other_end() {
    let pair = Pair::new(&[Line::plain()]);
    let mut config = pair.configs()[0].clone();
    config.connection("tunnel").set("sequence", false);
    let mut daemon = Daemon::start(&pair.a, &config);
    daemon.wait_until_up();
    let peer = pair.b.udp("10.71.1.2:4754");
    let application = [pair.a.udp("10.72.0.1:7000"), pair.a.udp("[fd00:72::1]:7000")];

    let v4 = PacketBuilder::ipv4([10, 72, 0, 2], [10, 72, 0, 1], 64).udp(9000, 7000);
    let far = [0xfd00, 0x72, 0, 0, 0, 0, 0, 2].map(u16::to_be_bytes).concat().try_into().unwrap();
    let near = [0xfd00, 0x72, 0, 0, 0, 0, 0, 1].map(u16::to_be_bytes).concat().try_into().unwrap();
    let v6 = PacketBuilder::ipv6(far, near, 64).udp(9000, 7000);
    let protocols = [[0x08, 0x00], [0x86, 0xdd]];
    for ((builder, protocol), application) in [v4, v6].into_iter().zip(protocols).zip(&application)
    {
        let mut datagram = vec![0, 0, protocol[0], protocol[1]];
        builder.write(&mut datagram, b"question").unwrap();
        peer.send_to(&datagram, "10.71.1.1:4754").unwrap();
        let mut buffer = [0; 2000];
        let (length, from) = application.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], from.port()), (&b"question"[..], 9000));

        application.send_to(b"answer", from).unwrap();
        let (length, from) = peer.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..4], [0, 0, protocol[0], protocol[1]], "a header of 4 bytes");
        assert_eq!(from.ip().to_string(), "10.71.1.1");
        let inner = etherparse::SlicedPacket::from_ip(&buffer[4..length]).unwrap();
        let Some(etherparse::TransportSlice::Udp(udp)) = inner.transport else {
            panic!("{inner:?}")
        };
        assert_eq!(
            (udp.source_port(), udp.destination_port(), udp.payload()),
            (7000, 9000, &b"answer"[..])
        );
    }
    let connection = daemon.connection("tunnel");
    assert_eq!((connection.mtu, connection.sequence), (1468, false));
    let heard = SocketAddr::from(([10, 71, 1, 2], 4754));
    assert_eq!(connection.paths[0].heard_from, Some(heard));
}
