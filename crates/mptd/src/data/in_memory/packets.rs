//! Inner packets that can be told from one another.

use std::net::Ipv4Addr;

use mpt_wire::{ip, ipv4};

/// IPv4 and UDP headers, and the number.
const LEN: usize = ipv4::HEADER_LEN + 8 + 8;

/// A UDP datagram of this number, from one host behind the tunnel to the other.
pub(super) fn numbered(from: Ipv4Addr, to: Ipv4Addr, port: u16, number: u64) -> Vec<u8> {
    let mut packet = vec![0; LEN];
    let repr = ipv4::Repr {
        source: from,
        destination: to,
        protocol: ip::protocol::UDP,
        tos: 0,
        identification: 0,
        dont_fragment: true,
        ttl: 64,
        payload_len: (LEN - ipv4::HEADER_LEN) as u16,
    };
    repr.emit(&mut packet);
    let udp = &mut packet[ipv4::HEADER_LEN..];
    udp[..2].copy_from_slice(&port.to_be_bytes());
    udp[2..4].copy_from_slice(&5000_u16.to_be_bytes());
    udp[4..6].copy_from_slice(&16_u16.to_be_bytes());
    udp[8..].copy_from_slice(&number.to_be_bytes());
    packet
}

/// Source port and number of such a packet; `None` if it is another one.
pub(super) fn parse(packet: &[u8]) -> Option<(u16, u64)> {
    let udp = packet.get(ipv4::HEADER_LEN..).filter(|_| packet.len() == LEN)?;
    let port = u16::from_be_bytes(*udp.first_chunk()?);
    Some((port, u64::from_be_bytes(*udp.last_chunk()?)))
}
