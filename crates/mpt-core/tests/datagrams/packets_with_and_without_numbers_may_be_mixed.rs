//! Packets that a plain RFC 8086 peer may send.

use mpt_core::{Accepted, ConnectionConfig, Node};

use crate::common::*;

fn accepted(node: &Node<Packet>) -> Accepted {
    *node.tunnels().connections().next().unwrap().1.accepted()
}

fn inner(number: u8) -> Vec<u8> {
    udp("10.1.0.1", "10.0.0.1", 1, 2, &[number])
}

#[test]
fn without_a_number_nothing_waits() {
    let mut node = node(connection(vec![path(1), path(2)]));
    let (now, device) = (origin(), &mut Device::default());
    receive(&mut node, now, 1, &gre(0, &inner(0)), device).unwrap();
    receive(&mut node, now, 1, &gre(2, &inner(2)), device).unwrap();
    receive(&mut node, now, 1, &gre_plain(&inner(9)), device).unwrap();
    assert_eq!(device.delivered, [inner(0), inner(9)], "2 waits for 1, 9 for nothing");
    receive(&mut node, now, 2, &gre(1, &inner(1)), device).unwrap();
    assert_eq!(device.delivered[2..], [inner(1), inner(2)]);
    assert_eq!(accepted(&node), Accepted { sequenced: 3, unsequenced: 1, sequence_ignored: 0 });
}

#[test]
fn a_connection_without_numbers_ignores_them() {
    let config = ConnectionConfig { sequence: false, ..connection(vec![path(1)]) };
    let mut node = node(config);
    let (now, device) = (origin(), &mut Device::default());
    for number in [5, 3, 3] {
        receive(&mut node, now, 1, &gre(u32::from(number), &inner(number)), device).unwrap();
    }
    assert_eq!(device.delivered, [inner(5), inner(3), inner(3)]);
    assert_eq!(accepted(&node), Accepted { sequenced: 0, unsequenced: 0, sequence_ignored: 3 });
}

#[test]
fn the_header_is_as_short_as_it_can_be() {
    for (sequence, key, checksum, length) in [
        (false, None, false, 4),
        (true, None, false, 8),
        (true, Some(1), false, 12),
        (true, Some(1), true, 16),
    ] {
        let base = connection(vec![path(1)]);
        let mut node = node(ConnectionConfig { sequence, key, checksum, ..base });
        let mut packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
        let bytes = packet.len();
        let outgoing =
            node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 1, bytes)).unwrap();
        assert_eq!(outgoing.header_len(), length);
        assert_eq!(node.tunnels().inner_mtu(DEVICE), 1500 - 28 - length as u16);
    }
}
