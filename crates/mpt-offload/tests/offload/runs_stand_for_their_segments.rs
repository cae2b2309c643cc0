use mpt_offload::{Segmenter, VnetHeader, vnet};
use proptest::prelude::*;

use crate::support::{Packet, any_super_packet, expand};

/// Cuts a super-packet into runs that begin at the given segments.
fn runs(
    vnet: &VnetHeader,
    packet: &mut [u8],
    transport: usize,
    cuts: &[u16],
) -> Vec<(VnetHeader, Vec<u8>)> {
    let segmenter = Segmenter::new(vnet, packet, transport).unwrap();
    let mut bounds: Vec<u16> = cuts.iter().map(|cut| cut % segmenter.count()).collect();
    bounds.extend([0, segmenter.count()]);
    bounds.sort_unstable();
    bounds.dedup();
    let run = |bounds: &[u16]| {
        let mut bytes = vec![0xa5; segmenter.header_len()];
        let (vnet, payload) = segmenter.run(vnet, packet, bounds[0]..bounds[1], &mut bytes);
        bytes.extend(&packet[payload]);
        (vnet, bytes)
    };
    bounds.windows(2).map(run).collect()
}

proptest! {
    #[test]
    fn however_they_are_cut(
        (packet, size) in any_super_packet(),
        cuts in prop::collection::vec(any::<u16>(), 0..6),
        complete in any::<bool>(),
    ) {
        let (mut vnet, mut bytes) = packet.partial(size);
        let whole = (vnet, bytes.clone());
        if complete {
            vnet = VnetHeader { flags: vnet::DATA_VALID, csum_start: 0, csum_offset: 0, ..vnet };
            bytes = packet.bytes();
        }
        let transport = packet.transport_start();
        let mut segments = Vec::new();
        for (vnet, run) in runs(&vnet, &mut bytes, transport, &cuts) {
            prop_assert!(vnet.needs_checksum());
            segments.extend(expand(&vnet, &run));
        }
        let mut expected: Vec<Vec<u8>> = packet.segments(size).iter().map(Packet::bytes).collect();
        prop_assert_eq!(segments.len(), expected.len());
        // Both zeros are right in TCP; which one it is depends on who sums up.
        let field = transport + usize::from(whole.0.csum_offset);
        for segment in segments.iter_mut().chain(&mut expected) {
            if segment[field..field + 2] == [0, 0] {
                segment[field..field + 2].copy_from_slice(&[0xff, 0xff]);
            }
        }
        for (segment, expected) in segments.iter().zip(&expected) {
            prop_assert!(segment == expected, "{:?}\n{:?}", Packet::parse(segment), Packet::parse(expected));
        }
        // Not cut at all, it is what it was.
        let (mut vnet, mut bytes) = whole.clone();
        vnet.hdr_len = packet.header_len() as u16;
        if packet.segments(size).len() > 1 {
            prop_assert_eq!(runs(&vnet, &mut bytes, transport, &[]), [(vnet, whole.1)]);
        }
    }
}

#[test]
fn a_packet_that_is_none_is_left_alone() {
    let mut packet = vec![0x45; 60];
    let vnet = VnetHeader::default();
    assert_eq!(runs(&vnet, &mut packet.clone(), 20, &[]), [(vnet, packet.clone())]);
    packet.truncate(1);
    assert_eq!(runs(&vnet, &mut packet.clone(), 20, &[]), [(vnet, packet)]);
}
