//! On a loose connection other messages may travel among the data, as those of the papers'
//! prototype do, and the GRE header may name the wrong IP version, as the prototype's does.

use mpt_core::{ConnectionConfig, DatagramDrop, Tunnels};

use crate::common::*;

fn loose() -> ConnectionConfig {
    ConnectionConfig { loose: true, ..connection(vec![path(1)]) }
}

fn receive_one(config: ConnectionConfig, payload: &[u8]) -> (Result<(), DatagramDrop>, u64) {
    let mut endpoint = endpoint(config);
    let mut device = Device::default();
    let result = receive(&mut endpoint, origin(), 1, &gre_plain(payload), &mut device);
    (result, malformed(&endpoint))
}

fn malformed(endpoint: &Tunnels<Packet>) -> u64 {
    let connections = endpoint.connections().map(|(_, it)| it.datagram_drops().malformed);
    connections.sum::<u64>() + endpoint.datagram_drops().malformed
}

#[test]
fn a_message_is_handed_back_with_its_path() {
    for first in [0xa0, 0xa1, 0xff, 0x00, 0x50] {
        let mut endpoint = endpoint(loose());
        let id = endpoint.paths().next().unwrap().0;
        let mut datagram = gre_plain(&[first; 40]);
        let remote = (ip("192.0.2.1"), PORT).into();
        let ecn = mpt_wire::ecn::Ecn::NotEct;
        let result = endpoint.accept(mpt_core::SocketId(1), remote, ecn, &mut datagram);
        assert_eq!(result.map(|_| ()), Err(DatagramDrop::NotIp(id)));
        assert_eq!(malformed(&endpoint), 0, "the caller may know what it is");
        endpoint.count_drop(DatagramDrop::NotIp(id));
        assert_eq!(malformed(&endpoint), 1);
    }
}

#[test]
fn elsewhere_it_is_malformed() {
    let config = connection(vec![path(1)]);
    assert_eq!(receive_one(config, &[0xa1; 40]), (Err(DatagramDrop::Malformed), 1));
}

#[test]
fn an_ip_packet_that_is_cut_is_malformed_here_too() {
    let packet = udp("10.1.0.1", "10.0.0.1", 1, 2, b"data");
    let (result, malformed) = receive_one(loose(), &packet[..packet.len() - 1]);
    assert_eq!((result, malformed), (Err(DatagramDrop::Malformed), 1));
    assert_eq!(receive_one(loose(), &[]), (Err(DatagramDrop::Malformed), 1));
}

#[test]
fn the_gre_header_may_name_the_other_ip_version() {
    let packet = udp("10.1.0.1", "10.0.0.1", 1, 2, b"data");
    let mut datagram = gre_plain(&packet);
    datagram[2..4].copy_from_slice(&[0x86, 0xdd]);
    for (config, expected) in
        [(loose(), Ok(())), (connection(vec![path(1)]), Err(DatagramDrop::InnerVersion))]
    {
        let mut endpoint = endpoint(config);
        let mut device = Device::default();
        let result = receive(&mut endpoint, origin(), 1, &datagram, &mut device);
        assert_eq!(result, expected);
        assert_eq!(device.delivered.len(), usize::from(expected.is_ok()));
    }
}
