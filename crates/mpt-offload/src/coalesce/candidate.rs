//! The kind of a packet: one that can be merged with others of its flow, or one that only has to
//! keep its place.

use mpt_wire::ip::protocol;

use super::mergeable::Mergeable;
use crate::header::{Transport, field, read_u16, tcp_flag};

/// Two packets with equal addresses are kept in order unless both have ports and the ports differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Addresses {
    source: u128,
    destination: u128,
    ipv6: bool,
}

impl Addresses {
    pub(super) fn is_ipv6(&self) -> bool {
        self.ipv6
    }
}

/// The five-tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    /// Source port above, destination port below.
    pub(super) ports: u32,
    pub(super) transport: Transport,
    pub(super) addresses: Addresses,
}

/// The coalescer's treatment of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Class {
    /// It may be merged, if its checksum is right.
    Candidate(Candidate),
    /// It is never merged, and must not overtake packets of its flow that are held.
    Flow(Flow, Reason),
    /// Its flow cannot be told (a fragment, say): it must not overtake any packet that is held between the two hosts.
    Hosts(Addresses, Reason),
    /// It is no IP packet.
    Foreign,
}

/// The reason why a packet is not merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// It is neither TCP nor UDP, or one of them that is not to be merged.
    Protocol,
    /// It is a fragment, has IP options or extension headers, or its length fields do not fit the packet.
    Headers,
    /// It has no data, or flags that ask for attention.
    Control,
    /// Its checksum is not right.
    Checksum,
    /// No packet that fits came before or after.
    Alone,
}

/// A TCP or UDP packet with data and nothing special about its headers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) flow: Flow,
    /// The offset of the transport header: 20 or 40 bytes.
    pub(super) transport_start: usize,
    /// The offset of the payload.
    pub(super) header_len: usize,
    pub(super) payload_len: usize,
}

/// Looks at the headers of a packet; `mergeable` says which protocols may be merged.
#[inline]
pub(super) fn classify(packet: &[u8], mergeable: Mergeable) -> Class {
    let Some((addresses, upper)) = parse_ip(packet) else { return Class::Foreign };
    let (transport, start) = match upper {
        Upper::Transport { protocol: protocol::TCP, start } => (Transport::Tcp, start),
        Upper::Transport { protocol: protocol::UDP, start } => (Transport::Udp, start),
        Upper::Transport { .. } => return Class::Hosts(addresses, Reason::Protocol),
        Upper::Hidden => return Class::Hosts(addresses, Reason::Headers),
    };
    let segment = &packet[start..];
    let Some(&[a, b, c, d]) = segment.first_chunk() else {
        return Class::Hosts(addresses, Reason::Headers);
    };
    let flow = Flow { ports: u32::from_be_bytes([a, b, c, d]), transport, addresses };
    if !match transport {
        Transport::Tcp => mergeable.tcp,
        Transport::Udp => mergeable.udp,
    } {
        return Class::Flow(flow, Reason::Protocol);
    }

    let header_len = match transport {
        Transport::Tcp => {
            if segment.len() < field::TCP_HEADER_LEN {
                return Class::Flow(flow, Reason::Headers);
            }
            let header_len = usize::from(segment[field::TCP_FLAGS] >> 4) * 4;
            if header_len < field::TCP_HEADER_LEN || header_len > segment.len() {
                return Class::Flow(flow, Reason::Headers);
            }
            let flags = read_u16(segment, field::TCP_FLAGS) & tcp_flag::ALL;
            let plain = tcp_flag::ACK
                | tcp_flag::PSH
                | tcp_flag::FIN
                | tcp_flag::ECE
                | tcp_flag::CWR
                | tcp_flag::AE;
            if flags & tcp_flag::ACK == 0 || flags & !plain != 0 {
                return Class::Flow(flow, Reason::Control);
            }
            header_len
        }
        Transport::Udp => {
            if segment.len() < field::UDP_HEADER_LEN
                || usize::from(read_u16(segment, field::UDP_LENGTH)) != segment.len()
            {
                return Class::Flow(flow, Reason::Headers);
            }
            field::UDP_HEADER_LEN
        }
    };
    let payload_len = segment.len() - header_len;
    if payload_len == 0 {
        return Class::Flow(flow, Reason::Control);
    }
    Class::Candidate(Candidate {
        flow,
        transport_start: start,
        header_len: start + header_len,
        payload_len,
    })
}

/// The header behind the IP header.
enum Upper {
    /// The upper layer's header follows a plain IP header at once, and the lengths are right.
    Transport { protocol: u8, start: usize },
    /// It is not to be found without more ado.
    Hidden,
}

fn parse_ip(packet: &[u8]) -> Option<(Addresses, Upper)> {
    match packet.first()? >> 4 {
        4 => {
            let header: &[u8; field::IPV4_HEADER_LEN] = packet.first_chunk()?;
            let &[a, b, c, d, e, f, g, h] = header.last_chunk()?;
            let addresses = Addresses {
                source: u32::from_be_bytes([a, b, c, d]).into(),
                destination: u32::from_be_bytes([e, f, g, h]).into(),
                ipv6: false,
            };
            // More fragments, or an offset; DF is welcome.
            let fragment = read_u16(header, field::IPV4_FRAGMENT) & 0x3fff != 0;
            let plain = header[0] == 0x45
                && usize::from(read_u16(header, field::IPV4_TOTAL_LENGTH)) == packet.len()
                && !fragment;
            let start = field::IPV4_HEADER_LEN;
            let upper = if plain {
                Upper::Transport { protocol: header[field::IPV4_PROTOCOL], start }
            } else {
                Upper::Hidden
            };
            Some((addresses, upper))
        }
        6 => {
            let header: &[u8; field::IPV6_HEADER_LEN] = packet.first_chunk()?;
            let (source, destination) = header[field::IPV6_ADDRESSES..].split_at(16);
            let addresses = Addresses {
                source: u128::from_be_bytes(*source.first_chunk()?),
                destination: u128::from_be_bytes(*destination.first_chunk()?),
                ipv6: true,
            };
            let start = field::IPV6_HEADER_LEN;
            let protocol = header[field::IPV6_NEXT_HEADER];
            let plain =
                usize::from(read_u16(header, field::IPV6_PAYLOAD_LENGTH)) == packet.len() - start;
            // Extension headers are among the protocols that are neither TCP nor UDP; whatever they hide stays in order.
            let upper = if plain { Upper::Transport { protocol, start } } else { Upper::Hidden };
            Some((addresses, upper))
        }
        _ => None,
    }
}
