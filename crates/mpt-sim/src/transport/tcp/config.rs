//! The configuration of a TCP sender.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::transport::congestion::Control;

/// The sender's treatment of packets that come out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treatment {
    /// Three duplicates count as a loss.
    None,
    /// A retransmission reported as duplicate takes the response back, by slow start (RFC 2883, RFC 3708).
    #[serde(rename = "d-sack")]
    DSack,
    /// Timestamps show whether the original came (RFC 3522); then the window is restored.
    Eifel,
    /// Out-of-order events suspend the response, and take back a recent one (Wang and Zhang 2002).
    TcpDoor,
    /// New data after a time-out show whether it was due (RFC 5682).
    #[serde(rename = "f-rto")]
    FRto,
    /// Losses are detected by time, the wait adapts to reordering, and the tail is probed (RFC 8985).
    RackTlp,
}

/// The configuration of a TCP sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Congestion control.
    pub control: Control,
    /// Treatment of reordering.
    pub treatment: Treatment,
    /// True for Linux' additions and deviations: the window shrinks over a round-trip time (RFC 6937); the lower limit of the timer is one of the
    /// variation's part; a time-out is not trusted (RFC 5682); a response to congestion that turns out not to have been due is taken back at once,
    /// whatever the treatment, by reports of duplicates (RFC 3708) and by timestamps (RFC 3522); slow start ends when the round-trip time grows
    /// (HyStart); and before the first loss cubic grows by at least a twentieth per round-trip time.
    pub linux: bool,
    /// True if a train of acknowledgements that lasts for half of a round-trip time ends slow start, too; needs [`Self::linux`]. The simulated
    /// receiver acknowledges each segment, and that of Linux every second one: beside other flows, acknowledgements look closer to each other than
    /// they are on real machines, and slow start ends too soon. So this is for single flows.
    pub trains: bool,
    /// True if segments can be marked instead of dropped (RFC 3168).
    pub ecn: bool,
    /// True if the receiver reports blocks (RFC 2018). Otherwise recovery is that of RFC 6582.
    pub sack: bool,
    /// Segments that may be sent at the start: 10 (RFC 6928).
    pub initial_window: f64,
    /// Lower limit of the retransmission timer: 1 s (RFC 6298); Linux has 0.2 s.
    pub minimum_rto: Duration,
}

impl Config {
    /// Returns what the RFCs say.
    pub const fn standard(control: Control, treatment: Treatment) -> Self {
        Self {
            control,
            treatment,
            linux: false,
            trains: false,
            ecn: false,
            sack: true,
            initial_window: 10.0,
            minimum_rto: Duration::from_secs(1),
        }
    }
}
