//! One super-packet in the making.

use mpt_wire::checksum::{Sum, update16};
use mpt_wire::{ipv6, tcp};

use super::candidate::{Addresses, Candidate, Flow};
use super::sink::{MAX_PIECES, Piece, Sink};
use crate::header::{Transport, field, read_u16, read_u32, tcp_flag, write_u16};
use crate::vnet::{self, VnetHeader};

/// IPv6 and TCP with all its options.
const MAX_HEADER_LEN: usize = ipv6::HEADER_LEN + tcp::MAX_HEADER_LEN;

/// The largest value of the IP header's length field, taken alike for both versions.
const MAX_LEN: usize = 65_535;

const IPV4_DONT_FRAGMENT: u16 = 0x4000;

/// States whether a packet can follow those in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// It can.
    Yes,
    /// It can, and nothing after it.
    Last,
    /// It differs from what is there, or does not follow it.
    No,
}

/// Packets of one flow that follow each other, and the headers they will share.
#[derive(Debug)]
pub(super) struct Slot<H> {
    flow: Flow,
    /// The first packet's headers; `header_len` bytes of it count.
    header: [u8; MAX_HEADER_LEN],
    header_len: usize,
    transport_start: usize,
    /// The pseudo-header without its length.
    pseudo: Sum,
    /// Payload bytes of every packet but the last.
    segment_len: usize,
    /// Header and payload bytes so far.
    len: usize,
    /// TCP: of the first byte that would follow.
    next_sequence: u32,
    /// TCP: PSH and FIN of the last packet.
    last_flags: u16,
    /// Payloads. The vector never grows beyond its first capacity.
    pieces: Vec<Piece<H>>,
}

impl<H: Copy> Slot<H> {
    pub(super) fn new() -> Self {
        Slot {
            flow: Flow { ports: 0, transport: Transport::Tcp, addresses: Addresses::default() },
            header: [0; MAX_HEADER_LEN],
            header_len: 0,
            transport_start: 0,
            pseudo: Sum::new(),
            segment_len: 0,
            len: 0,
            next_sequence: 0,
            last_flags: 0,
            pieces: Vec::with_capacity(MAX_PIECES),
        }
    }

    pub(super) fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Number of packets in it.
    pub(super) fn count(&self) -> usize {
        self.pieces.len()
    }

    /// Begins with a packet whose checksum was verified.
    pub(super) fn start(&mut self, packet: &[u8], handle: H, candidate: &Candidate, pseudo: Sum) {
        self.flow = candidate.flow;
        self.header[..candidate.header_len].copy_from_slice(&packet[..candidate.header_len]);
        self.header_len = candidate.header_len;
        self.transport_start = candidate.transport_start;
        self.pseudo = pseudo;
        self.segment_len = candidate.payload_len;
        self.len = candidate.header_len;
        self.next_sequence = match candidate.flow.transport {
            Transport::Tcp => read_u32(packet, candidate.transport_start + field::TCP_SEQUENCE),
            Transport::Udp => 0,
        };
        self.pieces.clear();
        self.push(packet, handle, candidate);
    }

    /// Adds a packet that [`Self::accepts`] lets in and whose checksum was verified.
    pub(super) fn push(&mut self, packet: &[u8], handle: H, candidate: &Candidate) {
        if candidate.flow.transport == Transport::Tcp {
            self.next_sequence = self.next_sequence.wrapping_add(candidate.payload_len as u32);
            self.last_flags =
                read_u16(packet, candidate.transport_start + field::TCP_FLAGS) & ENDING;
        }
        self.len += candidate.payload_len;
        self.pieces.push(Piece {
            handle,
            start: candidate.header_len as u32,
            end: packet.len() as u32,
        });
    }

    /// Returns whether a packet of this flow can be pushed.
    pub(super) fn accepts(&self, packet: &[u8], candidate: &Candidate) -> Join {
        let header = &self.header[..self.header_len];
        let fits = candidate.header_len == self.header_len
            && candidate.payload_len <= self.segment_len
            && self.len + candidate.payload_len <= MAX_LEN
            && self.same_ip_header(header, packet)
            && match self.flow.transport {
                Transport::Tcp => self.same_tcp_header(
                    &header[self.transport_start..],
                    &packet[self.transport_start..],
                ),
                Transport::Udp => true,
            };
        if !fits {
            Join::No
        } else if candidate.payload_len < self.segment_len
            || self.pieces.len() + 1 == MAX_PIECES
            || ends_super_packet(packet, candidate)
        {
            Join::Last
        } else {
            Join::Yes
        }
    }

    fn same_ip_header(&self, header: &[u8], packet: &[u8]) -> bool {
        // Addresses and protocol are equal since the flow is.
        if self.flow.addresses.is_ipv6() {
            // Version, traffic class, flow label; next header, hop limit.
            header[..field::IPV6_PAYLOAD_LENGTH] == packet[..field::IPV6_PAYLOAD_LENGTH]
                && header[field::IPV6_NEXT_HEADER..field::IPV6_ADDRESSES]
                    == packet[field::IPV6_NEXT_HEADER..field::IPV6_ADDRESSES]
        } else {
            let fragment = read_u16(header, field::IPV4_FRAGMENT);
            let id = read_u16(header, field::IPV4_ID).wrapping_add(self.pieces.len() as u16);
            header[..field::IPV4_TOTAL_LENGTH] == packet[..field::IPV4_TOTAL_LENGTH]
                && fragment == read_u16(packet, field::IPV4_FRAGMENT)
                && header[field::IPV4_TTL] == packet[field::IPV4_TTL]
                && (fragment & IPV4_DONT_FRAGMENT != 0 || id == read_u16(packet, field::IPV4_ID))
        }
    }

    fn same_tcp_header(&self, header: &[u8], segment: &[u8]) -> bool {
        let options = field::TCP_HEADER_LEN..self.header_len - self.transport_start;
        // CWR belongs to the first segment alone: later ones must not have it, whatever the first has.
        let flags = read_u16(header, field::TCP_FLAGS) & !tcp_flag::CWR;
        read_u32(segment, field::TCP_SEQUENCE) == self.next_sequence
            && read_u16(segment, field::TCP_FLAGS) & !ENDING == flags
            && header[field::TCP_ACKNOWLEDGMENT..field::TCP_FLAGS]
                == segment[field::TCP_ACKNOWLEDGMENT..field::TCP_FLAGS]
            && header[field::TCP_WINDOW..field::TCP_CHECKSUM]
                == segment[field::TCP_WINDOW..field::TCP_CHECKSUM]
            && header[field::TCP_URGENT..field::TCP_HEADER_LEN]
                == segment[field::TCP_URGENT..field::TCP_HEADER_LEN]
            && header[options.clone()] == segment[options]
    }

    /// Writes what was gathered and becomes empty.
    ///
    /// Checksums are left to the kernel, which takes them for verified and hardly ever has to compute them; the flag
    /// `DATA_VALID` would say more, but TUN ignores it.
    pub(super) fn close(&mut self, sink: &mut impl Sink<H>) {
        let ipv6 = self.flow.addresses.is_ipv6();
        let gso = self.pieces.len() > 1;
        let transport_len = (self.len - self.transport_start) as u16;
        let header = &mut self.header[..self.header_len];
        if gso && ipv6 {
            write_u16(header, field::IPV6_PAYLOAD_LENGTH, transport_len);
        } else if gso {
            let checksum = read_u16(header, field::IPV4_CHECKSUM);
            let old = read_u16(header, field::IPV4_TOTAL_LENGTH);
            write_u16(header, field::IPV4_TOTAL_LENGTH, self.len as u16);
            write_u16(header, field::IPV4_CHECKSUM, update16(checksum, old, self.len as u16));
        }

        let mut seed = self.pseudo;
        seed.add_u16(transport_len);
        let seed = seed.fold();
        let header = &mut header[self.transport_start..];
        let (gso_type, ecn, csum_offset) = match self.flow.transport {
            Transport::Tcp => {
                let flags = read_u16(header, field::TCP_FLAGS) & !ENDING | self.last_flags;
                write_u16(header, field::TCP_FLAGS, flags);
                write_u16(header, field::TCP_CHECKSUM, seed);
                let ecn = if flags & tcp_flag::CWR != 0 { vnet::GSO_ECN } else { 0 };
                (if ipv6 { vnet::GSO_TCPV6 } else { vnet::GSO_TCPV4 }, ecn, field::TCP_CHECKSUM)
            }
            Transport::Udp => {
                write_u16(header, field::UDP_LENGTH, transport_len);
                write_u16(header, field::UDP_CHECKSUM, seed);
                (vnet::GSO_UDP_L4, 0, field::UDP_CHECKSUM)
            }
        };
        let vnet = VnetHeader {
            flags: vnet::NEEDS_CSUM,
            gso_type: if gso { gso_type | ecn } else { vnet::GSO_NONE },
            hdr_len: self.header_len as u16,
            gso_size: if gso { self.segment_len as u16 } else { 0 },
            csum_start: self.transport_start as u16,
            csum_offset: csum_offset as u16,
        };
        sink.write(&vnet, &self.header[..self.header_len], &self.pieces);
        self.pieces.clear();
    }
}

/// Flags after which the sender has nothing more to say for now: the receiver is to see the data at once.
const ENDING: u16 = tcp_flag::PSH | tcp_flag::FIN;

/// True if a packet, by its own flags, is the last of a super-packet.
pub(super) fn ends_super_packet(packet: &[u8], candidate: &Candidate) -> bool {
    candidate.flow.transport == Transport::Tcp
        && read_u16(packet, candidate.transport_start + field::TCP_FLAGS) & ENDING != 0
}

/// Sum of the pseudo-header without its length, if the packet's checksums are right. UDP without a checksum has none that is.
pub(super) fn verify(packet: &[u8], candidate: &Candidate) -> Option<Sum> {
    let (ip_header, segment) = packet.split_at(candidate.transport_start);
    let Flow { transport, addresses, .. } = candidate.flow;
    if transport == Transport::Udp && read_u16(segment, field::UDP_CHECKSUM) == 0 {
        return None;
    }
    let mut pseudo = Sum::new();
    if addresses.is_ipv6() {
        pseudo.add_bytes(&ip_header[field::IPV6_ADDRESSES..]);
    } else {
        let mut header = Sum::new();
        header.add_bytes(ip_header);
        if header.fold() != 0xffff {
            return None;
        }
        pseudo.add_bytes(&ip_header[field::IPV4_ADDRESSES..]);
    }
    pseudo.add_u16(transport.protocol().into());
    let mut sum = pseudo;
    sum.add_u16(segment.len() as u16);
    sum.add_bytes(segment);
    (sum.fold() == 0xffff).then_some(pseudo)
}
