//! DSCP on request, ECN by RFC 6040.

use mpt_core::ConnectionConfig;
use mpt_wire::ecn::Mode;

use crate::common::*;

#[test]
fn on_every_combination() {
    for (copy_dscp, ecn, expected) in [
        (false, Mode::Compatibility, 0),
        (true, Mode::Compatibility, 46 << 2),
        (false, Mode::Normal, 0b10),
        (true, Mode::Normal, 46 << 2 | 0b10),
    ] {
        for v6 in [false, true] {
            let base = if v6 { connection_v6() } else { connection(vec![path(1)]) };
            let mut node = node(ConnectionConfig { copy_dscp, ecn, ..base });
            let tos = 46_u8 << 2 | 0b10;
            let mut packet = if v6 {
                let mut packet = udp("fd00::1", "fd01::1", 1, 2, &[]);
                packet[0] |= tos >> 4;
                packet[1] |= tos << 4;
                packet
            } else {
                let mut packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[]);
                packet[1] = tos;
                fill_ipv4_checksum(&mut packet);
                packet
            };
            let original = packet.clone();
            let length = packet.len();
            let outgoing =
                node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 1, length)).unwrap();
            assert_eq!(outgoing.outer_tos, expected);
            assert_eq!(packet, original, "the inner packet, its hop limit included, stays");
        }
    }
}
