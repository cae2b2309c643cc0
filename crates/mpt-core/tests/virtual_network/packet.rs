//! Inner packets: UDP, of a size and with a content that follow from seed and id.

use mpt_wire::{checksum, ipv4, ipv6, udp};

use super::setup::{Inner, Setup, host_v4, host_v6};
use super::{SIDES, Side};

/// Id of packets that do not belong to the numbered traffic.
pub const FORGED: u64 = u64::MAX;

const UDP: u8 = 17;
/// Id and flow.
const FIXED: usize = 10;
/// Most are small, which saves time; the largest fits into 1500 bytes with any encapsulation.
const LARGEST_PAYLOADS: [u64; 8] = [1300, 300, 60, 60, 60, 60, 60, 60];

/// A well mixed function of both (SplitMix64, Steele and others 2014).
pub fn mix(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The packet of this id, complete with all checksums.
pub fn build(setup: &Setup, side: Side, id: u64, flow: u16) -> Vec<u8> {
    let draw = mix(setup.seed, id);
    let largest = LARGEST_PAYLOADS[(draw % 8) as usize];
    let payload = FIXED + (draw / 8 % largest) as usize;
    let v6 = setup.inner == Inner::Both && flow % 2 == 1;
    let ip = if v6 { ipv6::HEADER_LEN } else { ipv4::HEADER_LEN };
    let length = udp::HEADER_LEN + payload;
    let mut packet = vec![0; ip + length];

    let content = &mut packet[ip + udp::HEADER_LEN..];
    content[..8].copy_from_slice(&id.to_be_bytes());
    content[8..FIXED].copy_from_slice(&flow.to_be_bytes());
    for (index, chunk) in (0..).zip(content[FIXED..].chunks_mut(8)) {
        chunk.copy_from_slice(&mix(draw, index).to_be_bytes()[..chunk.len()]);
    }

    let (header, datagram) = packet.split_at_mut(ip);
    let length = length as u16;
    datagram[4..6].copy_from_slice(&length.to_be_bytes());
    let mut view = udp::Packet::new_checked(datagram).expect("long enough");
    view.set_source_port(10_000 + flow);
    view.set_destination_port(5000);
    if v6 {
        let [source, destination] = [side, 1 - side].map(|side| host_v6(side, 1));
        let repr = ipv6::Repr {
            source,
            destination,
            next_header: UDP,
            traffic_class: 0,
            flow_label: 0,
            hop_limit: 64,
            payload_len: length,
        };
        repr.emit(header);
        view.fill_checksum(checksum::pseudo_header_v6(source, destination, UDP, length.into()));
    } else {
        let [source, destination] = [side, 1 - side].map(|side| host_v4(side, 1));
        let repr = ipv4::Repr {
            source,
            destination,
            protocol: UDP,
            tos: 0,
            identification: 0,
            dont_fragment: true,
            ttl: 64,
            payload_len: length,
        };
        repr.emit(header);
        view.fill_checksum(checksum::pseudo_header_v4(source, destination, UDP, length));
    }
    packet
}

/// Id and flow of a packet from `side`, every byte of which is what it was; its checksums are right for a stranger, too.
pub fn verify(setup: &Setup, side: Side, packet: &[u8]) -> (u64, u16) {
    let (ip, pseudo_header) = if packet[0] >> 4 == 6 {
        let header = ipv6::Packet::new_checked(packet).expect("a whole packet");
        let length = u32::from(header.payload_len());
        let (source, destination) = (header.source(), header.destination());
        (ipv6::HEADER_LEN, checksum::pseudo_header_v6(source, destination, UDP, length))
    } else {
        let header = ipv4::Packet::new_checked(packet).expect("a whole packet");
        assert!(header.verify_checksum(), "IPv4 header checksum");
        let length = (header.total_len() - ipv4::HEADER_LEN) as u16;
        let (source, destination) = (header.source(), header.destination());
        (ipv4::HEADER_LEN, checksum::pseudo_header_v4(source, destination, UDP, length))
    };
    let datagram = udp::Packet::new_checked(&packet[ip..]).expect("a whole datagram");
    assert!(datagram.verify_checksum(pseudo_header), "UDP checksum");
    let content = datagram.payload();
    let id = u64::from_be_bytes(content[..8].try_into().expect("8 bytes"));
    let flow = u16::from_be_bytes(content[8..FIXED].try_into().expect("2 bytes"));
    debug_assert!(SIDES.contains(&side));
    assert!(packet == build(setup, side, id, flow), "packet {id} was changed");
    (id, flow)
}
