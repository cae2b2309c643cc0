use mpt_offload::{Malformed, Segmenter, VnetHeader, vnet};
use proptest::prelude::*;

use crate::support::{Packet, any_super_packet, ipv4, ipv6};

/// Cuts what is accepted: the payloads tile the packet, and nothing panics.
fn cut_or_refuse(vnet: &VnetHeader, packet: &mut [u8], transport: usize) {
    let Ok(segmenter) = Segmenter::new(vnet, packet, transport) else { return };
    let mut header = vec![0; segmenter.header_len()];
    let mut end = segmenter.header_len();
    assert!(segmenter.count() > 0);
    for index in 0..segmenter.count() {
        let payload = segmenter.segment(packet, index, &mut header);
        assert_eq!(payload.start, end);
        assert!(segmenter.segment_len(index) <= segmenter.largest());
        end = payload.end;
    }
    assert_eq!(end, packet.len());
}

fn any_vnet() -> impl Strategy<Value = VnetHeader> {
    let type_ = prop_oneof![
        Just(0u8),
        Just(1),
        Just(3),
        Just(4),
        Just(5),
        Just(0x81),
        Just(0x84),
        any::<u8>()
    ];
    let small = || prop_oneof![0..100u16, any::<u16>()];
    (any::<u8>(), type_, any::<u16>(), small(), small(), small()).prop_map(
        |(flags, gso_type, hdr_len, gso_size, csum_start, csum_offset)| VnetHeader {
            flags,
            gso_type,
            hdr_len,
            gso_size,
            csum_start,
            csum_offset,
        },
    )
}

proptest! {
    #[test]
    fn about_any_bytes(
        vnet in any_vnet(),
        version in prop_oneof![Just(0x45u8), Just(0x60), any::<u8>()],
        mut packet in prop::collection::vec(any::<u8>(), 0..300),
        transport in prop_oneof![Just(20usize), Just(40), 0..320usize, any::<usize>()],
        matching in any::<bool>(),
    ) {
        if let Some(first) = packet.first_mut() {
            *first = version;
        }
        let mut vnet = vnet;
        if matching {
            (vnet.csum_start, vnet.csum_offset) = (transport as u16, if vnet.gso_type == 5 { 6 } else { 16 });
        }
        cut_or_refuse(&vnet, &mut packet, transport);
    }

    #[test]
    fn about_a_real_super_packet(
        (packet, size) in any_super_packet(),
        lie in any_vnet(),
        which in 0..8,
        transport in 0..100usize,
        keep in any::<prop::sample::Index>(),
        mutation in any::<(prop::sample::Index, u8)>(),
    ) {
        let (mut vnet, mut bytes) = packet.partial(size);
        let mut start = packet.transport_start();
        match which {
            0 => vnet.gso_type = lie.gso_type,
            1 => vnet.gso_size = lie.gso_size,
            2 => vnet.csum_start = lie.csum_start,
            3 => vnet.csum_offset = lie.csum_offset,
            4 => vnet.flags = lie.flags,
            5 => start = transport,
            6 => bytes.truncate(keep.index(bytes.len())),
            _ => {
                let at = mutation.0.index(packet.header_len());
                bytes[at] ^= mutation.1;
            }
        }
        cut_or_refuse(&vnet, &mut bytes, start);
    }
}

#[test]
fn each_with_its_own_error() {
    let tcp = || {
        let mut header = etherparse::TcpHeader::new(1, 2, 3, 4);
        header.ack = true;
        Packet::tcp(ipv4(), header, vec![0; 100]).partial(40)
    };
    let check = |name: &str,
                 expected: Malformed,
                 change: &dyn Fn(&mut VnetHeader, &mut Vec<u8>, &mut usize)| {
        let (mut vnet, mut bytes) = tcp();
        let mut transport = 20;
        Segmenter::new(&vnet, &mut bytes, transport).unwrap();
        change(&mut vnet, &mut bytes, &mut transport);
        assert_eq!(Segmenter::new(&vnet, &mut bytes, transport).unwrap_err(), expected, "{name}");
    };
    check("empty", Malformed::Truncated, &|_, bytes, _| bytes.clear());
    check("IP header cut", Malformed::Truncated, &|_, bytes, _| bytes.truncate(19));
    check("TCP header cut", Malformed::Truncated, &|_, bytes, _| bytes.truncate(39));
    check("data offset beyond the end", Malformed::Truncated, &|_, bytes, _| {
        bytes.truncate(41);
        bytes[32] = 0xf0;
    });
    check("data offset too small", Malformed::Truncated, &|_, bytes, _| bytes[32] = 0x40);
    check("transport elsewhere", Malformed::Truncated, &|_, _, transport| *transport = 24);
    check("no payload", Malformed::GsoSize, &|_, bytes, _| bytes.truncate(40));
    check("zero segments", Malformed::GsoSize, &|vnet, _, _| vnet.gso_size = 0);
    check("old UDP fragmentation", Malformed::GsoType, &|vnet, _, _| vnet.gso_type = 3);
    check("other IP version", Malformed::GsoType, &|vnet, _, _| vnet.gso_type = vnet::GSO_TCPV6);
    check("other protocol", Malformed::GsoType, &|vnet, _, _| vnet.gso_type = vnet::GSO_UDP_L4);
    check("checksum elsewhere", Malformed::ChecksumField, &|vnet, _, _| vnet.csum_offset = 6);
    check("too long", Malformed::TooLong, &|_, bytes, _| bytes.resize(65_536, 0));

    let (mut vnet, mut bytes) = Packet::udp(ipv6(), (1, 2), vec![0; 100]).partial(40);
    bytes.resize(65_576, 0);
    assert_eq!(Segmenter::new(&vnet, &mut bytes, 40).unwrap_err(), Malformed::TooLong);
    bytes.pop();
    assert_eq!(Segmenter::new(&vnet, &mut bytes, 40).unwrap().count(), 1639);
    vnet = VnetHeader { gso_type: vnet::GSO_NONE, csum_start: 65_000, csum_offset: 574, ..vnet };
    assert_eq!(Segmenter::new(&vnet, &mut bytes, 40).unwrap_err(), Malformed::ChecksumField);
}
