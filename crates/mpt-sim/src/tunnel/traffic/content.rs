//! The contents of packets, and their headers.

use std::net::Ipv4Addr;

use mpt_wire::ecn::Ecn;
use mpt_wire::{ip, ipv4, tcp, udp};

use crate::simulation::Packet as _;
use crate::transport::tcp::{Ack, Block, Segment};

/// The longest headers of an inner packet, in bytes: IPv4 without options, and TCP with 40 bytes of them.
pub(in crate::tunnel) const MAX_HEADERS: usize = ipv4::HEADER_LEN + tcp::MAX_HEADER_LEN;

/// Length of a TCP header with timestamps, in bytes.
const TIMESTAMPED: usize = tcp::HEADER_LEN + 12;
/// Length of the header of an ICMP echo, in bytes.
const ICMP: usize = 8;
/// Bytes of payload that a segment counts for in sequence numbers.
const COUNTED: u32 = 1400;
/// The port of the hosts that receive data (iperf3's).
const SERVICE: u16 = 5201;
/// The port of the first flow's sender; those of the others follow.
const FIRST_PORT: u16 = 40_000;
/// The port of a remote shell.
const SHELL: u16 = 22;
/// The port of the first one that uses it; those of the others follow.
const FIRST_SHELL: u16 = 50_000;

/// The content of a packet. The simulated hosts read it; the tunnel reads the headers.
#[derive(Clone, Copy, Debug)]
pub(in crate::tunnel) enum Content {
    /// A frame of the tunnel's own control protocol.
    Control,
    /// Data of a flow.
    Data(u8, Segment),
    /// An acknowledgement of a flow.
    Ack(u8, Ack),
    /// A packet of a probe of the hosts, or the answer to it.
    Echo(Echo),
    /// A packet of a stream.
    Stream(StreamPacket),
}

/// A packet of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tunnel) struct StreamPacket {
    /// Number of its stream.
    pub(in crate::tunnel) stream: u8,
    /// The side that has sent it.
    pub(in crate::tunnel) side: u8,
    /// Its number.
    pub(in crate::tunnel) id: u32,
    /// True if its DSCP asks for expedited forwarding.
    pub(in crate::tunnel) protected: bool,
}

impl StreamPacket {
    /// Length of the record at the beginning of its payload, behind the UDP header.
    const LEN: usize = 8;

    fn emit(self) -> [u8; Self::LEN] {
        let [a, b, c, d] = self.id.to_be_bytes();
        [self.stream, self.side, u8::from(self.protected), 0, a, b, c, d]
    }

    /// Reads it from an inner packet. `None` if it is another kind of packet.
    pub(in crate::tunnel) fn of(packet: &[u8]) -> Option<Self> {
        let (header, rest) = packet.split_at_checked(ipv4::HEADER_LEN + udp::HEADER_LEN)?;
        let &[stream, side, protected, _, a, b, c, d] = rest.first_chunk::<{ Self::LEN }>()?;
        let is_udp = header.get(PROTOCOL) == Some(&ip::protocol::UDP);
        let id = u32::from_be_bytes([a, b, c, d]);
        is_udp.then_some(Self { stream, side, id, protected: protected == 1 })
    }
}

/// Offset of the protocol field in an IPv4 header.
const PROTOCOL: usize = 9;
/// The TOS of packets that ask for expedited forwarding (RFC 3246).
const EXPEDITED: u8 = 46 << 2;
/// The port of the first stream; those of the others follow.
const FIRST_STREAM: u16 = 16_384;

/// A packet that is sent back.
#[derive(Clone, Copy, Debug)]
pub(in crate::tunnel) struct Echo {
    /// Number of its source.
    pub(in crate::tunnel) source: u8,
    /// Its number.
    pub(in crate::tunnel) id: u32,
    /// True if it is the answer.
    pub(super) reply: bool,
    /// Its kind.
    pub(in crate::tunnel) kind: EchoKind,
}

/// The kinds of packets that are sent back. All have 84 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoKind {
    /// Packets of ping.
    Icmp,
    /// Packets of a remote shell: a TCP segment with 32 bytes of payload, echoed by another one.
    Tcp,
}

impl Content {
    /// Returns a number that distinguishes this packet from others, for the hash of the trace.
    pub(in crate::tunnel) fn digest(&self) -> u64 {
        let (flow, packet) = match self {
            Self::Control => (0, 0),
            Self::Data(flow, segment) => (*flow, segment.digest()),
            Self::Ack(flow, ack) => (*flow, ack.digest()),
            Self::Echo(Echo { source, id, reply, .. }) => {
                (!source, u64::from(*id) << 1 | u64::from(*reply))
            }
            Self::Stream(StreamPacket { stream, side, id, .. }) => {
                (!stream ^ 0x55, u64::from(*id) << 1 | u64::from(*side))
            }
        };
        packet ^ u64::from(flow).rotate_right(8)
    }
}

impl Content {
    /// Returns the ECN field of its IP header.
    pub(in crate::tunnel) fn ecn(&self) -> Ecn {
        match self {
            Self::Data(_, segment) if segment.ecn.congested => Ecn::Ce,
            Self::Data(_, segment) if segment.ecn.capable => Ecn::Ect0,
            _ => Ecn::NotEct,
        }
    }

    /// Marks the packet, as a queue on its way does.
    pub(in crate::tunnel) fn mark(&mut self) {
        if let Self::Data(_, segment) = self {
            segment.ecn.congested = true;
        }
    }

    /// Returns the number of the flow of a packet of a host, by which links distinguish flows.
    pub(in crate::tunnel) fn flow(&self) -> u64 {
        match self {
            Self::Control => 0,
            Self::Data(flow, _) | Self::Ack(flow, _) => 1 + u64::from(*flow),
            Self::Echo(echo) => 500 + u64::from(echo.source),
            Self::Stream(packet) => 700 + u64::from(packet.stream),
        }
    }
}

/// A packet of the hosts behind the tunnel.
#[derive(Clone, Copy, Debug)]
pub(in crate::tunnel) struct Inner {
    /// Bytes of the IP packet.
    pub(in crate::tunnel) size: u64,
    /// Its content.
    pub(in crate::tunnel) content: Content,
}

impl Inner {
    /// Writes the headers of the packet, sent by the host behind end `side`, to the beginning of `buffer`, and returns their length. The payload is
    /// left as it is, since nothing reads it.
    ///
    /// # Panics
    ///
    /// Panics if the packet is no packet of a host, or is smaller than its headers.
    pub(in crate::tunnel) fn emit(&self, side: usize, buffer: &mut [u8]) -> usize {
        let len = self.size as usize - ipv4::HEADER_LEN;
        let protocol = match self.content {
            Content::Echo(Echo { kind: EchoKind::Icmp, .. }) => ip::protocol::ICMP,
            Content::Stream(_) => ip::protocol::UDP,
            _ => ip::protocol::TCP,
        };
        ipv4::Repr {
            source: host(side),
            destination: host(1 - side),
            protocol,
            tos: match self.content {
                Content::Stream(StreamPacket { protected: true, .. }) => EXPEDITED,
                _ => self.content.ecn().with_tos(0),
            },
            identification: 0,
            dont_fragment: true,
            ttl: 64,
            payload_len: len as u16,
        }
        .emit(buffer);
        let buffer = &mut buffer[ipv4::HEADER_LEN..];
        let header = match self.content {
            Content::Control => unreachable!("hosts send no frames of the tunnel"),
            Content::Data(flow, segment) => {
                let flags = match (segment.syn, segment.ecn.reduced) {
                    (true, _) => tcp::Flags::SYN,
                    (false, false) => tcp::Flags::ACK,
                    (false, true) => tcp::Flags(tcp::Flags::ACK.0 | tcp::Flags::CWR.0),
                };
                let header = if segment.syn { len } else { TIMESTAMPED };
                let ports = (FIRST_PORT + u16::from(flow), SERVICE);
                segment_header(buffer, ports, flags, [segment.data_sequence, 0], header)
            }
            // Everything behind the header counts as options.
            Content::Ack(flow, ack) => {
                let ports = (SERVICE, FIRST_PORT + u16::from(flow));
                let echo = if ack.congestion { tcp::Flags::ECE.0 } else { 0 };
                // The first one answers the SYN.
                let syn = if ack.number == 0 { tcp::Flags::SYN.0 } else { 0 };
                let flags = tcp::Flags(tcp::Flags::ACK.0 | echo | syn);
                let header = segment_header(buffer, ports, flags, [0, ack.next], len);
                selective_option(&mut buffer[tcp::HEADER_LEN..header], &ack);
                header
            }
            Content::Stream(packet) => {
                let port = (FIRST_STREAM + u16::from(packet.stream)).to_be_bytes();
                buffer[..2].copy_from_slice(&port);
                buffer[2..4].copy_from_slice(&port);
                buffer[4..6].copy_from_slice(&(len as u16).to_be_bytes());
                buffer[6..8].fill(0);
                buffer[udp::HEADER_LEN..][..StreamPacket::LEN].copy_from_slice(&packet.emit());
                udp::HEADER_LEN + StreamPacket::LEN
            }
            Content::Echo(Echo { kind: EchoKind::Icmp, id, reply, .. }) => {
                let kind = if reply { 0 } else { 8 };
                buffer[..ICMP].copy_from_slice(&[kind, 0, 0, 0, 0, 1, (id >> 8) as u8, id as u8]);
                ICMP
            }
            Content::Echo(Echo { kind: EchoKind::Tcp, source, id, reply }) => {
                let (client, shell) = (FIRST_SHELL + u16::from(source), SHELL);
                let ports = if reply { (shell, client) } else { (client, shell) };
                let numbers = [id.into(), (id + u32::from(reply)).into()];
                segment_header(buffer, ports, tcp::Flags::ACK, numbers, TIMESTAMPED)
            }
        };
        ipv4::HEADER_LEN + header
    }
}

/// Writes a TCP header of `len` bytes, options of no meaning included, and returns that length. Sequence and acknowledgement number count segments.
fn segment_header(
    buffer: &mut [u8],
    (source_port, destination_port): (u16, u16),
    flags: tcp::Flags,
    numbers: [u64; 2],
    len: usize,
) -> usize {
    let options = [tcp::option::NO_OPERATION; tcp::MAX_HEADER_LEN - tcp::HEADER_LEN];
    let options = &options[..len - tcp::HEADER_LEN];
    let [sequence, acknowledgment] = numbers.map(|it| (it as u32).wrapping_mul(COUNTED));
    let (window, urgent) = (u16::MAX, 0);
    tcp::Repr {
        source_port,
        destination_port,
        sequence,
        acknowledgment,
        flags,
        window,
        urgent,
        options,
    }
    .emit(buffer);
    len
}

/// Writes the blocks of an acknowledgement to the beginning of its options, that of a duplicate first (RFC 2883). Those
/// of timestamps have no meaning here.
fn selective_option(options: &mut [u8], ack: &Ack) {
    let duplicate = ack.duplicate.map(|number| Block { from: number, to: number + 1 });
    let mut len = 2;
    for edge in duplicate.into_iter().chain(ack.sacked()).flat_map(|block| [block.from, block.to]) {
        let bytes = (edge as u32).wrapping_mul(COUNTED).to_be_bytes();
        options[len..][..bytes.len()].copy_from_slice(&bytes);
        len += bytes.len();
    }
    if len > 2 {
        options[..2].copy_from_slice(&[tcp::option::SELECTIVE_ACKNOWLEDGEMENT, len as u8]);
    }
}

/// Returns the address of the host behind an end of the tunnel.
pub(in crate::tunnel) fn host(side: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, side as u8, 1)
}
