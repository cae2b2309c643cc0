//! Cutting a super-packet into the packets it stands for.

use std::ops::Range;

use mpt_wire::checksum::Sum;

use crate::header::{Transport, field, read_u16, read_u32, tcp_flag, write_u16, write_u32};
use crate::vnet::{self, Malformed, VnetHeader};

/// The form of each packet of a super-packet.
///
/// Made once per packet read from TUN; holds no reference to it, so that the packet can be looked at and sent in between.
/// A packet that is none (the usual small one) is the case of one segment without a header of its own.
#[derive(Clone, Copy, Debug)]
pub struct Segmenter {
    pub(super) kind: Kind,
    count: u16,
    /// Bytes of the whole packet.
    len: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Sent as it is.
    Whole,
    Super(Template),
}

/// The parts of the headers that all segments share, already summed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template {
    pub(super) ip: Ip,
    pub(super) transport: Transport,
    /// The offset of the transport header.
    pub(super) transport_start: u32,
    /// The offset of the payload.
    pub(super) header_len: u32,
    /// Payload bytes of every segment but the last.
    pub(super) segment_len: u32,
    /// The pseudo-header without its length.
    pub(super) pseudo: Sum,
    /// The pseudo-header without its length, and the transport header without the fields that differ.
    sum: Sum,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Ip {
    V4 {
        id: u16,
        /// The header without total length, identification and checksum.
        sum: Sum,
    },
    V6,
}

impl Segmenter {
    /// Takes a packet as read from TUN, `packet` starting at its IP header. `transport` is where its transport header starts
    /// (`mpt_wire::ip::Summary::transport`). The checksum of a packet that is no super-packet is completed in place, if it has
    /// to be.
    ///
    /// The headers of a super-packet must not change between this call and [`Self::segment`].
    pub fn new(vnet: &VnetHeader, packet: &mut [u8], transport: usize) -> Result<Self, Malformed> {
        if vnet.is_gso() {
            return Self::of_super_packet(vnet, packet, transport);
        }
        if vnet.needs_checksum() {
            complete_checksum(packet, vnet.csum_start.into(), vnet.csum_offset.into())?;
        }
        let len = u32::try_from(packet.len()).map_err(|_| Malformed::TooLong)?;
        Ok(Segmenter { kind: Kind::Whole, count: 1, len })
    }

    fn of_super_packet(
        vnet: &VnetHeader,
        packet: &[u8],
        transport_start: usize,
    ) -> Result<Self, Malformed> {
        let version = packet.first().ok_or(Malformed::Truncated)? >> 4;
        let transport = match (vnet.gso_type & !vnet::GSO_ECN, version) {
            (vnet::GSO_TCPV4, 4) | (vnet::GSO_TCPV6, 6) => Transport::Tcp,
            (vnet::GSO_UDP_L4, 4 | 6) => Transport::Udp,
            _ => return Err(Malformed::GsoType),
        };
        let (ip, addresses) = parse_ip(packet, version, transport, transport_start)?;

        let (minimum, checksum_offset) = match transport {
            Transport::Tcp => (field::TCP_HEADER_LEN, field::TCP_CHECKSUM),
            Transport::Udp => (field::UDP_HEADER_LEN, field::UDP_CHECKSUM),
        };
        let segment = &packet[transport_start..];
        if segment.len() < minimum {
            return Err(Malformed::Truncated);
        }
        let transport_header_len = match transport {
            Transport::Tcp => usize::from(segment[field::TCP_FLAGS] >> 4) * 4,
            Transport::Udp => field::UDP_HEADER_LEN,
        };
        if transport_header_len < minimum || transport_header_len > segment.len() {
            return Err(Malformed::Truncated);
        }
        let payload_len = segment.len() - transport_header_len;
        if vnet.gso_size == 0 || payload_len == 0 {
            return Err(Malformed::GsoSize);
        }

        // The field of a packet with NEEDS_CSUM holds the sum of the pseudo-header. It is better than one of our own, since with
        // an IPv6 routing header the final destination is not the one in front.
        let mut sum = Sum::new();
        if vnet.needs_checksum() {
            let field = (usize::from(vnet.csum_start), usize::from(vnet.csum_offset));
            if field != (transport_start, checksum_offset) {
                return Err(Malformed::ChecksumField);
            }
            sum.add_u16(read_u16(segment, checksum_offset));
            // The length is taken out again: in ones' complement, its complement added.
            sum.add_u16(!(segment.len() as u16));
        } else {
            sum.add_bytes(addresses);
            sum.add_u16(transport.protocol().into());
        }
        let pseudo = sum;
        match transport {
            Transport::Tcp => {
                // Ports; acknowledgment number; window; urgent pointer and options.
                sum.add_bytes(&segment[..field::TCP_SEQUENCE]);
                sum.add_bytes(&segment[field::TCP_ACKNOWLEDGMENT..field::TCP_FLAGS]);
                sum.add_bytes(&segment[field::TCP_WINDOW..field::TCP_CHECKSUM]);
                sum.add_bytes(&segment[field::TCP_URGENT..transport_header_len]);
            }
            Transport::Udp => sum.add_bytes(&segment[..field::UDP_LENGTH]),
        }

        let template = Template {
            ip,
            transport,
            transport_start: transport_start as u32,
            header_len: (transport_start + transport_header_len) as u32,
            segment_len: vnet.gso_size.into(),
            pseudo,
            sum,
        };
        // At most 65,535 payload bytes in segments of at least one: fits.
        let count = payload_len.div_ceil(vnet.gso_size.into()) as u16;
        Ok(Segmenter { kind: Kind::Super(template), count, len: packet.len() as u32 })
    }

    /// Number of packets, at least 1.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// Bytes of the whole packet.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Bytes [`Self::segment`] writes: the headers of one segment, or none for a packet that is sent as it is.
    pub fn header_len(&self) -> usize {
        match &self.kind {
            Kind::Whole => 0,
            Kind::Super(template) => template.header_len as usize,
        }
    }

    /// Bytes of the largest packet, from the IP header on.
    pub fn largest(&self) -> usize {
        match &self.kind {
            Kind::Whole => self.len as usize,
            Kind::Super(template) => {
                (template.header_len + template.segment_len).min(self.len) as usize
            }
        }
    }

    /// Bytes of packet `index`, from the IP header on.
    pub fn segment_len(&self, index: u16) -> usize {
        self.header_len() + self.payload(index).len()
    }

    /// Returns the range of the payload of packet `index` in the super-packet. It follows the
    /// headers written by [`Self::segment`].
    pub(super) fn payload(&self, index: u16) -> Range<usize> {
        debug_assert!(index < self.count);
        match &self.kind {
            Kind::Whole => 0..self.len as usize,
            Kind::Super(template) => {
                let start = template.header_len + u32::from(index) * template.segment_len;
                start as usize..(start + template.segment_len).min(self.len) as usize
            }
        }
    }

    /// Writes the headers of packet `index` to the first [`Self::header_len`] bytes of `header`, checksums complete, and gives
    /// the range of `packet` that follows them.
    ///
    /// `packet` is the one given to [`Self::new`].
    ///
    /// # Panics
    ///
    /// Panics when `index` is not below [`Self::count`], `header` is too short, or `packet` is another one.
    pub fn segment(&self, packet: &[u8], index: u16, header: &mut [u8]) -> Range<usize> {
        assert!(
            index < self.count && packet.len() == self.len as usize,
            "not a segment of this packet"
        );
        let payload = self.payload(index);
        if let Kind::Super(template) = &self.kind {
            let header = &mut header[..template.header_len as usize];
            header.copy_from_slice(&packet[..template.header_len as usize]);
            template.fix_up(header, &packet[payload.clone()], index, index + 1 == self.count);
        }
        payload
    }
}

impl Template {
    /// Turns the super-packet's headers into those of segment `index`.
    fn fix_up(&self, header: &mut [u8], payload: &[u8], index: u16, last: bool) {
        self.fix_up_ip(header, payload.len(), index);
        let header = &mut header[self.transport_start as usize..];
        let len = (header.len() + payload.len()) as u16;
        let mut sum = self.sum;
        sum.add_u16(len);
        match self.transport {
            Transport::Tcp => {
                let offset = u32::from(index) * self.segment_len;
                let sequence = read_u32(header, field::TCP_SEQUENCE).wrapping_add(offset);
                let mut flags = read_u16(header, field::TCP_FLAGS);
                if index > 0 {
                    flags &= !tcp_flag::CWR;
                }
                if !last {
                    flags &= !(tcp_flag::FIN | tcp_flag::PSH);
                }
                sum.add_u32(sequence);
                sum.add_u16(flags);
                sum.add_bytes(payload);
                write_u32(header, field::TCP_SEQUENCE, sequence);
                write_u16(header, field::TCP_FLAGS, flags);
                write_u16(header, field::TCP_CHECKSUM, sum.finish());
            }
            Transport::Udp => {
                sum.add_u16(len);
                sum.add_bytes(payload);
                write_u16(header, field::UDP_LENGTH, len);
                write_u16(header, field::UDP_CHECKSUM, not_zero(sum.finish()));
            }
        }
    }

    /// Turns the super-packet's IP header into that of a packet which begins with segment `index`.
    pub(super) fn fix_up_ip(&self, header: &mut [u8], payload_len: usize, index: u16) {
        let total_len = (header.len() + payload_len) as u16;
        match self.ip {
            Ip::V4 { id, mut sum } => {
                // Numbered on from the super-packet's own, whether DF is set or not, as the kernel's segmentation does.
                let id = id.wrapping_add(index);
                sum.add_u16(total_len);
                sum.add_u16(id);
                write_u16(header, field::IPV4_TOTAL_LENGTH, total_len);
                write_u16(header, field::IPV4_ID, id);
                write_u16(header, field::IPV4_CHECKSUM, sum.finish());
            }
            Ip::V6 => {
                let payload_len = (header.len() + payload_len - field::IPV6_HEADER_LEN) as u16;
                write_u16(header, field::IPV6_PAYLOAD_LENGTH, payload_len);
            }
        }
    }
}

/// Checks the IP header of a super-packet; gives it with the bytes of its addresses.
fn parse_ip(
    packet: &[u8],
    version: u8,
    transport: Transport,
    transport_start: usize,
) -> Result<(Ip, &[u8]), Malformed> {
    let fixed = if version == 4 { field::IPV4_HEADER_LEN } else { field::IPV6_HEADER_LEN };
    if packet.len() < fixed || packet.len() < transport_start {
        return Err(Malformed::Truncated);
    }
    let protocol = transport.protocol();
    if version == 4 {
        if packet.len() > usize::from(u16::MAX) {
            return Err(Malformed::TooLong);
        }
        let header_len = usize::from(packet[0] & 0xf) * 4;
        if header_len < fixed || transport_start != header_len {
            return Err(Malformed::Truncated);
        }
        if packet[field::IPV4_PROTOCOL] != protocol {
            return Err(Malformed::GsoType);
        }
        let mut sum = Sum::new();
        sum.add_bytes(&packet[..field::IPV4_TOTAL_LENGTH]);
        sum.add_bytes(&packet[field::IPV4_FRAGMENT..field::IPV4_CHECKSUM]);
        sum.add_bytes(&packet[field::IPV4_ADDRESSES..header_len]);
        let addresses = &packet[field::IPV4_ADDRESSES..field::IPV4_HEADER_LEN];
        Ok((Ip::V4 { id: read_u16(packet, field::IPV4_ID), sum }, addresses))
    } else {
        if packet.len() - fixed > usize::from(u16::MAX) {
            return Err(Malformed::TooLong);
        }
        if transport_start < fixed {
            return Err(Malformed::Truncated);
        }
        if transport_start == fixed && packet[field::IPV6_NEXT_HEADER] != protocol {
            return Err(Malformed::GsoType);
        }
        Ok((Ip::V6, &packet[field::IPV6_ADDRESSES..field::IPV6_HEADER_LEN]))
    }
}

/// Finishes the checksum of a packet whose field holds the sum of the pseudo-header.
fn complete_checksum(packet: &mut [u8], start: usize, offset: usize) -> Result<(), Malformed> {
    if start + offset + 2 > packet.len() {
        return Err(Malformed::ChecksumField);
    }
    // The seed in the field is part of the sum. Zero would mean "none" in UDP; in other protocols the two zeros are equal.
    let mut sum = Sum::new();
    sum.add_bytes(&packet[start..]);
    let checksum = not_zero(sum.finish());
    write_u16(packet, start + offset, checksum);
    Ok(())
}

/// RFC 768: a checksum that comes out as zero is sent as all ones.
fn not_zero(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}
