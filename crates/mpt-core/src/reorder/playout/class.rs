//! What a packet is to the play-out: whether it waits, and whose order it keeps.

use mpt_wire::{ip, tcp};

/// What a packet is to the play-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It carries TCP payload, or opens a TCP connection: its sender takes a later packet that comes
    /// sooner or later than this one for a change of the path.
    Payload {
        /// A hash of its flow.
        flow: u32,
    },
    /// A TCP segment without payload: its order among those of its flow matters.
    Acknowledgement,
    /// Anything else: it is wanted at once.
    Other,
}

/// IP protocol number of TCP.
const TCP: u8 = 6;

impl Class {
    /// The class of an inner packet.
    #[must_use]
    pub fn of(summary: &ip::Summary, packet: &[u8]) -> Self {
        if summary.protocol != TCP || summary.fragment {
            return Self::Other;
        }
        let Some(segment) = packet.get(summary.transport..summary.total_len) else {
            return Self::Other;
        };
        let Some(&[_, .., offset, flags]) = segment.get(..14) else { return Self::Other };
        let payload = segment.len() > usize::from(offset >> 4) * 4;
        if payload || u16::from(flags) & tcp::Flags::SYN.0 != 0 {
            Self::Payload { flow: (summary.flow_hash(0) >> 32) as u32 }
        } else {
            Self::Acknowledgement
        }
    }

    /// Whether it belongs to a TCP connection.
    #[must_use]
    pub const fn is_tcp(self) -> bool {
        !matches!(self, Self::Other)
    }
}
