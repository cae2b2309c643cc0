//! On a loose connection other messages may travel among the data, as those of the papers'
//! prototype do, and the GRE header may name the wrong IP version, as the prototype's does.

use mpt_core::{ConnectionConfig, DatagramDrop, Node};

use crate::common::*;

fn loose() -> ConnectionConfig {
    ConnectionConfig { loose: true, ..connection(vec![path(1)]) }
}

fn receive_one(config: ConnectionConfig, payload: &[u8]) -> (Result<(), DatagramDrop>, u64) {
    let mut node = node(config);
    let mut device = Device::default();
    let result = receive(&mut node, origin(), 1, &gre_plain(payload), &mut device);
    (result, malformed(&node))
}

fn malformed(node: &Node<Packet>) -> u64 {
    let connections = node.tunnels().connections().map(|(_, it)| it.datagram_drops().malformed);
    connections.sum::<u64>() + node.tunnels().datagram_drops().malformed
}

#[test]
fn a_message_is_for_the_prototype() {
    for first in [0xa0, 0xa1, 0xff, 0x00, 0x50] {
        let mut node = node(loose());
        let mut device = Device::default();
        let result = receive(&mut node, origin(), 1, &gre_plain(&[first; 40]), &mut device);
        assert_eq!(result, Ok(()));
        assert_eq!(malformed(&node), 0, "a prototype may know what it is");
        assert_eq!(node.prototypes().counters().unknown_data, 1, "{first:#x}");
        assert!(device.delivered.is_empty());
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
        let mut node = node(config);
        let mut device = Device::default();
        let result = receive(&mut node, origin(), 1, &datagram, &mut device);
        assert_eq!(result, expected);
        assert_eq!(device.delivered.len(), usize::from(expected.is_ok()));
    }
}
