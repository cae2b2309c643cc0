//! What packets hold, and their headers.

use std::net::Ipv4Addr;

use mpt_wire::{ip, ipv4, tcp};

use crate::simulation::Packet as _;
use crate::tcp::{Ack, Segment};

/// The longest headers of an inner packet, in bytes: IPv4 without options, and TCP with 40 bytes of them.
pub(super) const MAX_HEADERS: usize = ipv4::HEADER_LEN + tcp::MAX_HEADER_LEN;

/// Payload of a full segment, as far as sequence numbers count it.
const COUNTED: u32 = 1400;
/// The port of the hosts that receive data.
const SERVICE: u16 = 5201;
/// The port of the first flow's sender; those of the others follow.
const FIRST_PORT: u16 = 40_000;
/// The data segments of other transport protocols do not occur: every packet is TCP with a window that is never small.
const WINDOW: u16 = u16::MAX;

/// What a packet holds. The simulated hosts read this; the tunnel reads the headers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// A frame of the tunnel's own control protocol.
    Control,
    /// Data of a flow.
    Data(u8, Segment),
    /// An acknowledgement of a flow.
    Ack(u8, Ack),
}

impl Content {
    /// A number that tells this packet from others, for the hash of the trace.
    pub(super) fn digest(&self) -> u64 {
        let (flow, packet) = match self {
            Self::Control => (0, 0),
            Self::Data(flow, segment) => (*flow, segment.digest()),
            Self::Ack(flow, ack) => (*flow, ack.digest()),
        };
        packet ^ u64::from(flow).rotate_right(8)
    }
}

/// A packet of the hosts behind the tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inner {
    /// Bytes of the IP packet.
    pub(super) size: u64,
    /// What it holds.
    pub(super) content: Content,
}

impl Inner {
    /// Writes the headers of the packet, sent by the host behind end `side`, to the beginning of `buffer`; gives their
    /// length. The payload is left as it is: nobody reads it.
    ///
    /// # Panics
    ///
    /// If the packet is no packet of a host, or is smaller than its headers.
    pub(super) fn emit(&self, side: usize, buffer: &mut [u8]) -> usize {
        let size = self.size as usize;
        let (flow, flags, sequence, acknowledgment, header) = match self.content {
            Content::Control => unreachable!("hosts send no frames of the tunnel"),
            Content::Data(flow, segment) => {
                let flags = if segment.syn { tcp::Flags::SYN } else { tcp::Flags::ACK };
                let header = if segment.syn { size - ipv4::HEADER_LEN } else { TIMESTAMPED };
                (flow, flags, segment.data_sequence as u32, 0, header)
            }
            // Whatever it has is options.
            Content::Ack(flow, ack) => {
                (flow, tcp::Flags::ACK, 0, ack.next as u32, size - ipv4::HEADER_LEN)
            }
        };
        let (client, service) = (FIRST_PORT + u16::from(flow), SERVICE);
        let [source_port, destination_port] =
            if side == 0 { [client, service] } else { [service, client] };
        let options = [tcp::option::NO_OPERATION; tcp::MAX_HEADER_LEN - tcp::HEADER_LEN];
        let options = &options[..header - tcp::HEADER_LEN];
        ipv4::Repr {
            source: host(side),
            destination: host(1 - side),
            protocol: ip::protocol::TCP,
            tos: 0,
            identification: 0,
            dont_fragment: true,
            ttl: 64,
            payload_len: (size - ipv4::HEADER_LEN) as u16,
        }
        .emit(buffer);
        tcp::Repr {
            source_port,
            destination_port,
            sequence: sequence.wrapping_mul(COUNTED),
            acknowledgment: acknowledgment.wrapping_mul(COUNTED),
            flags,
            window: WINDOW,
            urgent: 0,
            options,
        }
        .emit(&mut buffer[ipv4::HEADER_LEN..]);
        ipv4::HEADER_LEN + header
    }
}

/// Length of a TCP header with timestamps, in bytes.
const TIMESTAMPED: usize = tcp::HEADER_LEN + 12;

/// The address of the host behind an end of the tunnel.
pub(super) fn host(side: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, side as u8, 1)
}
