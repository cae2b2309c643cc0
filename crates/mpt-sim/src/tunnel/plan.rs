//! What runs over the links.

use std::time::Duration;

use mpt_core::{Mapping, RateBounds, Repair, reorder};

use crate::transport::congestion::Control;
use crate::transport::tcp::{Config, Treatment};

use super::traffic::content::EchoKind;

/// A tunnel.
#[derive(Clone, Debug, PartialEq)]
pub struct TunnelPlan {
    /// The links of its paths, and their weights.
    pub paths: Vec<(usize, u16)>,
    /// The bounds of what is learnt of its paths, in their order; those that are missing have none.
    pub rates: Vec<RateBounds>,
    /// How both ends put packets in order.
    pub reorder: reorder::Config,
    /// How both ends map packets to paths.
    pub mapping: Mapping,
    /// True if the ends have a session.
    pub session: bool,
    /// Whether both ends send lost packets again.
    pub repair: Repair,
}

/// How packets go from one host to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// Through the tunnel of this number.
    Tunnel(usize),
    /// Over the link of this number, beside all tunnels.
    Link(usize),
}

/// A flow without end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowPlan {
    /// How its packets go.
    pub via: Via,
    /// Its sender.
    pub tcp: Config,
    /// How long after the beginning it begins.
    pub start: Duration,
}

/// Linux' lower limit of the retransmission timer (`TCP_RTO_MIN`).
const MINIMUM_RTO: Duration = Duration::from_millis(200);

impl FlowPlan {
    /// A flow as Linux has them by default (cubic with HyStart, RACK-TLP, responses taken back).
    pub fn linux(via: Via) -> Self {
        let standard = Config::standard(Control::Cubic, Treatment::RackTlp);
        let tcp = Config { minimum_rto: MINIMUM_RTO, linux: true, ..standard };
        Self { via, tcp, start: Duration::ZERO }
    }

    /// The only flow on its links: see [`Config::trains`].
    #[must_use]
    pub fn single(mut self) -> Self {
        self.tcp.trains = true;
        self
    }
}

/// Sparse packets that are sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoPlan {
    /// How they go.
    pub via: Via,
    /// What they look like.
    pub kind: EchoKind,
    /// Time between two of them.
    pub interval: Duration,
}

/// Small packets at a steady pace, both ways, that nobody sends again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPlan {
    /// How they go.
    pub via: Via,
    /// Bytes of each IP packet.
    pub size: u64,
    /// Time between two of them.
    pub interval: Duration,
    /// True if their DSCP asks for expedited forwarding, so that a tunnel protects them.
    pub protected: bool,
}
