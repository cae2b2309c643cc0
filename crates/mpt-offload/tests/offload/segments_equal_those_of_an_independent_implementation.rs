use mpt_offload::{Segmenter, VnetHeader, vnet};
use proptest::prelude::*;

use crate::support::{Ip, Packet, any_super_packet, ipv4, ipv6, naive_sum};

/// All packets of a super-packet, through the API the data thread uses.
fn cut(vnet: &VnetHeader, packet: &mut [u8], transport: usize) -> Vec<Vec<u8>> {
    let segmenter = Segmenter::new(vnet, packet, transport).unwrap();
    let segments: Vec<Vec<u8>> = (0..segmenter.count())
        .map(|index| {
            // The headers go to an arena: nothing but them may be written.
            let mut header = vec![0xa5; segmenter.header_len() + 4];
            let payload = segmenter.segment(packet, index, &mut header);
            assert_eq!(header[segmenter.header_len()..], [0xa5; 4]);
            header.truncate(segmenter.header_len());
            header.extend(&packet[payload]);
            assert_eq!(header.len(), segmenter.segment_len(index));
            header
        })
        .collect();
    assert_eq!(segmenter.largest(), segments.iter().map(Vec::len).max().unwrap());
    segments
}

proptest! {
    #[test]
    fn from_any_super_packet(
        (packet, size) in any_super_packet(),
        ip_options in prop::collection::vec(any::<[u8; 4]>(), 0..=3),
        complete in any::<bool>(),
    ) {
        let mut packet = packet;
        if let Ip::V4(header) = &mut packet.ip {
            header.options = ip_options.concat().as_slice().try_into().unwrap();
        }
        let (mut vnet, mut bytes) = packet.partial(size);
        if complete {
            // The kernel may also say nothing about the checksum, having verified it.
            vnet = VnetHeader { flags: vnet::DATA_VALID, csum_start: 0, csum_offset: 0, ..vnet };
            bytes = packet.bytes();
        }
        // A hint that includes some of the payload.
        vnet.hdr_len = vnet.hdr_len.saturating_add(100);
        let expected: Vec<Vec<u8>> = packet.segments(size).iter().map(Packet::bytes).collect();
        let segments = cut(&vnet, &mut bytes, packet.transport_start());
        prop_assert_eq!(segments.len(), expected.len());
        for (index, (segment, expected)) in segments.iter().zip(&expected).enumerate() {
            prop_assert!(segment == expected, "segment {} of {}: {:?}\n{:?}", index, expected.len(),
                Packet::parse(segment), Packet::parse(expected));
        }
    }

    #[test]
    fn a_single_packet_gets_its_checksum_in_place((packet, _) in any_super_packet()) {
        let (vnet, mut bytes) = packet.partial(0);
        let vnet = VnetHeader { gso_type: vnet::GSO_NONE, ..vnet };
        let segments = cut(&vnet, &mut bytes, packet.transport_start());
        let mut expected = packet.bytes();
        // Both zeros are right in TCP; the kernel, too, sends the one that UDP needs.
        let field = packet.transport_start() + usize::from(vnet.csum_offset);
        if expected[field..field + 2] == [0, 0] {
            expected[field..field + 2].copy_from_slice(&[0xff, 0xff]);
        }
        prop_assert_eq!(segments, [expected]);
    }

    #[test]
    fn a_packet_without_marks_is_left_alone(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut packet = bytes.clone();
        prop_assert_eq!(cut(&VnetHeader::default(), &mut packet, 20), [bytes]);
    }
}

#[test]
fn extension_headers_and_a_routing_header_s_seed_are_kept() {
    let packet = Packet::udp(ipv6(), (1, 2), (0..100).collect());
    let (mut vnet, plain) = packet.partial(40);
    // A routing header: the checksum counts the final destination, which is not the one in the IP header.
    let mut routing = vec![17, 2, 4, 1, 0, 0, 0, 0];
    routing.extend([0xfd; 16]);
    let mut bytes = [&plain[..40], &routing, &plain[40..]].concat();
    bytes[6] = 43;
    let payload_len = (bytes.len() - 40) as u16;
    bytes[4..6].copy_from_slice(&payload_len.to_be_bytes());
    vnet.csum_start += 24;
    let seed = |len: u16| {
        let mut pseudo = plain[8..24].to_vec();
        pseudo.extend([0xfd; 16]);
        pseudo.extend([0, 17]);
        pseudo.extend(len.to_be_bytes());
        naive_sum(&pseudo)
    };
    bytes[70..72].copy_from_slice(&seed(108).to_be_bytes());

    let segments = cut(&vnet, &mut bytes, 64);
    assert_eq!(segments.len(), 3);
    for (segment, payload) in segments.iter().zip([40u16, 40, 20]) {
        assert_eq!(segment.len(), 72 + usize::from(payload));
        assert_eq!(segment[4..6], (24 + 8 + payload).to_be_bytes());
        assert_eq!(segment[40..64], routing);
        assert_eq!(segment[68..70], (8 + payload).to_be_bytes());
        let mut covered = seed(8 + payload).to_be_bytes().to_vec();
        covered.extend(&segment[64..]);
        assert_eq!(naive_sum(&covered), 0xffff);
    }
}

#[test]
fn cwr_is_on_the_first_psh_and_fin_on_the_last() {
    let mut header = etherparse::TcpHeader::new(1, 2, u32::MAX - 5, 1000);
    (header.ack, header.psh, header.fin, header.cwr, header.ece) = (true, true, true, true, true);
    let packet = Packet::tcp(ipv4(), header, vec![1; 30]);
    let (vnet, mut bytes) = packet.partial(10);
    let flags: Vec<_> = cut(&vnet, &mut bytes, 20)
        .iter()
        .map(|segment| {
            let mut packet = Packet::parse(segment);
            let header = packet.tcp_header();
            (header.sequence_number, header.cwr, header.ece, header.psh, header.fin)
        })
        .collect();
    let expected = [
        (u32::MAX - 5, true, true, false, false),
        (4, false, true, false, false),
        (14, false, true, true, true),
    ];
    assert_eq!(flags, expected);
}
