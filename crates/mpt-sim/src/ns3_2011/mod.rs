//! The profile `ns3-2011`: the Multipath TCP of the simulator behind Alheid et al. 2014, as it behaved.
//!
//! What it does differs from the RFCs in nearly everything that matters, and each such difference is named where it is
//! made. Above all its receiver does not acknowledge what is in sequence on its subflow but ahead of the connection:
//! that makes duplicate acknowledgements out of a difference in delay. Numbers of this profile say what the paper
//! saw; they are not Multipath TCP. The profile `rfc` is.

mod congestion;
mod dsack;
mod frto;
mod log;
mod receiver;
mod sender;
mod subflow;

use std::time::Duration;

use crate::simulation::Packet;
use crate::time::Time;

pub use congestion::Congestion;
pub use log::ThroughputLog;
pub use receiver::Receiver;
pub use sender::Sender;

/// Payload of every packet, in bytes.
pub const MSS: u64 = 1400;
/// Headers of a data packet: IP 20, PPP 2, TCP with options 40.
const DATA_HEADER: u64 = 62;
/// What timestamps add to it.
const TIMESTAMPS: u64 = 20;
/// An acknowledgement; with timestamps; with the blocks of D-SACK.
const ACK: u64 = 42;
const ACK_TIMESTAMPS: u64 = 67;
const ACK_BLOCKS: u64 = 87;
/// Paths: the study has two, and this code was never asked for more.
pub(crate) const PATHS: usize = 2;

/// What was made of packet reordering. Only the names are those of the published algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Treatment {
    /// Nothing.
    None,
    /// Duplicates are counted for a hole found across subflows; slow start back to the saved window.
    DSack,
    /// The window is restored by every duplicate older than the retransmission.
    Eifel,
    /// Duplicates are ignored: only the timer recovers.
    TcpDoor,
    /// As TCP-DOOR, and runs of acknowledgements are thrown away.
    FRto,
}

/// What differs from run to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// What is made of reordering.
    pub treatment: Treatment,
    /// How windows grow and shrink.
    pub congestion: Congestion,
    /// Packets to be delivered.
    pub packets: u64,
    /// Lower limit of the retransmission timer (0.2 s in the study).
    pub minimum_rto: Duration,
    /// Whether a packet ahead of the connection is held without an acknowledgement, as it was. Without, the receiver
    /// acknowledges by subflow, as RFC 8684 has it.
    pub hold: bool,
    /// Whether the slow-start threshold mixes packets and bytes, as it did: max(cwnd in packets / 2, 2800 bytes).
    pub threshold_in_packets: bool,
    /// Upper end of the probability that an acknowledgement begins a run of discarded ones (F-RTO). It is drawn anew
    /// for each, uniformly from 0 on, and stands in for the wall clock of the original.
    pub discard: f64,
}

impl Options {
    /// As in the study, 50 MB.
    pub const fn study(treatment: Treatment, congestion: Congestion) -> Self {
        Self {
            treatment,
            congestion,
            packets: 35_714,
            minimum_rto: Duration::from_millis(200),
            hold: true,
            threshold_in_packets: true,
            discard: 0.061,
        }
    }
}

/// A data packet. Sequence numbers count packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its number on the subflow.
    sequence: u64,
    /// Its number in the connection.
    data_sequence: u64,
    /// When it was sent.
    timestamp: Time,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next number expected on the subflow.
    next: u64,
    /// Timestamp of the packet that caused it (Eifel).
    echo: Option<Time>,
    /// Blocks of D-SACK.
    blocks: Option<Blocks>,
}

/// What D-SACK reports, in numbers of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Blocks {
    /// The packet that came.
    own: u64,
    /// The lowest contiguous packets in the buffer, from and up to (exclusive).
    lowest: (u64, u64),
}

impl Packet for Data {
    fn digest(&self) -> u64 {
        self.sequence << 32 ^ self.data_sequence
    }
}

impl Packet for Ack {
    fn digest(&self) -> u64 {
        self.next << 1 | u64::from(self.blocks.is_some())
    }
}
