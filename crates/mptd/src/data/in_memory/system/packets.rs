//! Inner packets that can be told from one another.

use std::net::Ipv4Addr;

use mpt_linux::tun::VNET_HEADER_LEN;
use mpt_offload::{VnetHeader, vnet};
use mpt_wire::ecn::Ecn;
use mpt_wire::{gre, ip, ipv4};

/// IPv4 and UDP headers.
const HEADERS: usize = ipv4::HEADER_LEN + 8;

/// The common properties of the packets of a flow.
#[derive(Clone, Copy, Debug)]
pub(in crate::data::in_memory) struct Form {
    pub(in crate::data::in_memory) from: Ipv4Addr,
    pub(in crate::data::in_memory) to: Ipv4Addr,
    /// Source port of the UDP header.
    pub(in crate::data::in_memory) port: u16,
    /// Bytes behind the headers, at least 8.
    pub(in crate::data::in_memory) payload: usize,
    pub(in crate::data::in_memory) ecn: Ecn,
}

/// A packet that came out of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data::in_memory) struct Numbered {
    /// Source port of the UDP header.
    pub(in crate::data::in_memory) port: u16,
    pub(in crate::data::in_memory) number: u64,
    pub(in crate::data::in_memory) ecn: Ecn,
}

/// Returns a UDP datagram, as a device gives it, or the super-packet of several of these numbers.
pub(super) fn numbered(form: &Form, numbers: std::ops::Range<u64>) -> Vec<u8> {
    let count = numbers.end - numbers.start;
    let payload = form.payload * count as usize;
    let mut packet = vec![0; HEADERS];
    let repr = ipv4::Repr {
        source: form.from,
        destination: form.to,
        protocol: ip::protocol::UDP,
        tos: form.ecn.with_tos(0),
        identification: 0,
        dont_fragment: true,
        ttl: 64,
        payload_len: (8 + payload) as u16,
    };
    repr.emit(&mut packet);
    let udp = &mut packet[ipv4::HEADER_LEN..];
    udp[..2].copy_from_slice(&form.port.to_be_bytes());
    udp[2..4].copy_from_slice(&5000_u16.to_be_bytes());
    udp[4..6].copy_from_slice(&((8 + payload) as u16).to_be_bytes());
    for number in numbers {
        packet.extend(number.to_be_bytes());
        packet.resize(packet.len() + form.payload - 8, number as u8);
    }
    let header = match count {
        1 => [0; VNET_HEADER_LEN],
        _ => VnetHeader {
            gso_type: vnet::GSO_UDP_L4,
            hdr_len: HEADERS as u16,
            gso_size: form.payload as u16,
            ..VnetHeader::default()
        }
        .emit(),
    };
    [&header[..], &packet].concat()
}

/// Returns a UDP datagram in GRE with this sequence number, as a peer without a session sends it.
pub(in crate::data::in_memory) fn datagram(form: &Form, sequence: u32, number: u64) -> Vec<u8> {
    let packet = &numbered(form, number..number + 1)[VNET_HEADER_LEN..];
    let (protocol, checksum, key) = (gre::Protocol::IPV4, false, None);
    let header = gre::Repr { protocol, checksum, key, sequence: Some(sequence) };
    let mut bytes = vec![0; header.header_len()];
    header.emit(&mut bytes);
    [&bytes[..], packet].concat()
}

/// Such a packet, if it is whole; `None` if it is another one.
pub(in crate::data::in_memory) fn parse(packet: &[u8]) -> Option<Numbered> {
    let header = ipv4::Packet::new_header(packet).ok()?;
    let (udp, payload) = packet.get(ipv4::HEADER_LEN..)?.split_at_checked(8)?;
    let number = u64::from_be_bytes(*payload.first_chunk()?);
    let whole = payload[8..].iter().all(|&byte| byte == number as u8);
    let ecn = Ecn::from_tos(header.tos());
    let port = u16::from_be_bytes(*udp.first_chunk()?);
    (whole && header.verify_checksum()).then_some(Numbered { port, number, ecn })
}
