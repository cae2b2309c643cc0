//! One call for a TSO or USO super-packet: every segment gets its own number and its own path.

use crate::common::*;

#[test]
fn segment_by_segment() {
    let mut node = node(connection(paths(&[2, 1])));
    let mut packet = tcp("10.0.0.1", "10.1.0.1", 0x10, &[], &[7; 3_500]);
    let outgoing =
        node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 4, 1_040)).unwrap();
    assert!(outgoing.header.numbered);
    let seen: Vec<_> =
        outgoing.transmits.iter().map(|it| (it.segment, it.sequence, it.path.index())).collect();
    assert_eq!(seen, [(0, 0, 0), (1, 1, 0), (2, 2, 1), (3, 3, 0)]);
    let next = send(&mut node, &udp("10.0.0.1", "10.1.0.1", 1, 2, &[])).unwrap();
    assert_eq!(next[0].sequence, 4);
}

#[test]
fn bytes_are_those_of_the_segments_with_their_headers() {
    let mut node = node(connection(paths(&[1])));
    let mut packet = tcp("10.0.0.1", "10.1.0.1", 0x10, &[1, 1, 1, 1], &[7; 3_500]);
    node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 4, 1_044)).unwrap();
    let mut packet = udp("10.0.0.1", "10.1.0.1", 1, 2, &[7; 2_100]);
    node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 3, 1_028)).unwrap();
    let (_, connection) = node.tunnels().connections().next().unwrap();
    let bytes = 4 * 44 + 3_500 + 3 * 28 + 2_100;
    assert_eq!(connection.sent(), mpt_core::Traffic { packets: 7, bytes });
    assert_eq!(node.tunnels().paths().next().unwrap().1.sent(), connection.sent());
}

#[test]
fn a_segment_that_does_not_fit_refuses_the_whole() {
    let mut node = node(connection(paths(&[1])));
    let mut packet = tcp("10.0.0.1", "10.1.0.1", 0x10, &[], &[7; 2_900]);
    let refused =
        node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 2, 1_465)).unwrap_err();
    assert_eq!(refused, mpt_core::InnerDrop::TooBig { mtu: 1_464 });
    let (_, connection) = node.tunnels().connections().next().unwrap();
    assert_eq!(connection.inner_drops().too_big, 2);
    assert!(node.handle_inner(origin(), DEVICE, super_packet(&mut packet, 2, 1_464)).is_ok());
}
