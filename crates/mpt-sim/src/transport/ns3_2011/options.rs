//! Options of a run.

use std::time::Duration;

use super::Congestion;

/// The treatment of packet reordering. Only the names are those of the published algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Treatment {
    /// Reordering is not treated.
    None,
    /// Duplicates are counted for a hole found across subflows; slow start back to the saved window.
    DSack,
    /// The window is restored by every duplicate older than the retransmission.
    Eifel,
    /// Duplicates are ignored: only the timer recovers.
    TcpDoor,
    /// TCP-DOOR, with runs of acknowledgements thrown away.
    FRto,
}

/// Options of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Treatment of reordering.
    pub treatment: Treatment,
    /// Congestion control.
    pub congestion: Congestion,
    /// Packets to be delivered.
    pub packets: u64,
    /// Lower limit of the retransmission timer (0.2 s in the study).
    pub minimum_rto: Duration,
    /// True if a packet ahead of the connection is held without an acknowledgement, as it was. Without, the receiver
    /// acknowledges by subflow, as RFC 8684 has it.
    pub hold: bool,
    /// True if the slow-start threshold mixes packets and bytes, as it did: max(cwnd in packets / 2, 2800 bytes).
    pub threshold_in_packets: bool,
    /// Upper end of the probability that an acknowledgement begins a run of discarded ones (F-RTO). It is drawn anew
    /// for each, uniformly from 0 on, and stands in for the wall clock of the original.
    pub discard: f64,
}

impl Options {
    /// Returns the options of the study, with 50 MB to be delivered.
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
