//! The class of a packet in the play-out: whether it waits, and among which packets it keeps its
//! order.

use mpt_wire::ip::{self, protocol};
use mpt_wire::tcp;

use crate::is_bulk;

/// The class of a packet in the play-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It carries TCP payload, or is the answer to a TCP SYN: a sender takes a later packet that comes
    /// sooner or later than this one for a change of the path.
    ///
    /// The SYN itself is not one. Both ends take the time of the handshake for the round-trip time, and data is
    /// held in one direction only: were the SYN held, too, that time would exceed the second after which a SYN is
    /// sent again (RFC 6298), over paths that differ by 300 ms.
    Payload {
        /// A hash of its flow.
        flow: u32,
        /// It is so large that a bulk flow may consist of such packets.
        large: bool,
    },
    /// A TCP segment without payload: its order among those of its flow matters.
    Acknowledgement,
    /// A packet of a flow that is not TCP. It is wanted at once, unless the flow is a bulk flow and packets come when
    /// the paths bring them.
    Datagram {
        /// A hash of its flow.
        flow: u32,
        /// It is so large that a bulk flow may consist of such packets.
        large: bool,
    },
    /// It is wanted at once, whatever its flow is.
    Other,
    /// It keeps its place among all packets, whatever it is.
    Ordered,
}

impl Class {
    /// The class of an inner packet. `plays`: packets are held at present; otherwise nobody asks for
    /// the flow of TCP payload, and it is 0.
    #[inline]
    #[must_use]
    pub fn of(summary: &ip::Summary, packet: &[u8], plays: bool) -> Self {
        let flow = || (summary.flow_hash(0) >> 32) as u32;
        let large = is_bulk(summary.total_len as u32);
        match summary.protocol {
            protocol::ICMP | protocol::ICMPV6 => return Self::Other,
            protocol::TCP if !summary.fragment => {}
            _ => return Self::Datagram { flow: flow(), large },
        }
        let Some(segment) = packet.get(summary.transport..summary.total_len) else {
            return Self::Other;
        };
        let Some(&[_, .., offset, flags]) = segment.get(..14) else { return Self::Other };
        let payload = segment.len() > usize::from(offset >> 4) * 4;
        let flags = tcp::Flags(flags.into());
        if payload || flags.contains(tcp::Flags::SYN | tcp::Flags::ACK) {
            Self::Payload { flow: if plays { flow() } else { 0 }, large }
        } else {
            Self::Acknowledgement
        }
    }

    /// Returns true if it is so large a packet of a TCP flow that a bulk flow may consist of such packets.
    #[must_use]
    pub(crate) const fn is_bulk(self) -> bool {
        matches!(self, Self::Payload { large: true, .. })
    }

    /// Returns true if the time at which it is delivered matters to its sender: it belongs to a TCP connection, or
    /// keeps its place among all packets.
    #[must_use]
    pub const fn is_timed(self) -> bool {
        !matches!(self, Self::Other | Self::Datagram { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The class of an IPv4 TCP segment with these flags and so many bytes of payload.
    fn class(flags: u8, payload: usize) -> Class {
        let mut packet = vec![0; 40 + payload];
        let len = (packet.len() as u16).to_be_bytes();
        packet[..4].copy_from_slice(&[0x45, 0, len[0], len[1]]);
        (packet[8], packet[9]) = (64, protocol::TCP);
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        (packet[32], packet[33]) = (5 << 4, flags);
        let summary = ip::Summary::parse(&packet).expect("an IPv4 packet");
        Class::of(&summary, &packet, true)
    }

    #[test]
    fn data_and_the_answer_to_a_syn_are_held_and_a_syn_is_not() {
        let [syn, ack] = [tcp::Flags::SYN.0 as u8, tcp::Flags::ACK.0 as u8];
        assert!(matches!(class(ack, 100), Class::Payload { .. }));
        assert!(matches!(class(syn | ack, 0), Class::Payload { .. }));
        assert_eq!(class(syn, 0), Class::Acknowledgement);
        assert_eq!(class(ack, 0), Class::Acknowledgement);
    }
}
