//! Plans of tunnels and traffic over the links.

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
    /// The bounds of the learnt rates of its paths, in their order; missing entries mean no bounds.
    pub rates: Vec<RateBounds>,
    /// Reordering at both ends.
    pub reorder: reorder::Config,
    /// Mapping of packets to paths at both ends.
    pub mapping: Mapping,
    /// True if the ends have a session.
    pub session: bool,
    /// Repair of lost packets at both ends.
    pub repair: Repair,
}

impl TunnelPlan {
    /// Returns a tunnel over the first so many links, as it is where nothing is configured: adaptive, with a session
    /// and repair.
    pub fn adaptive(links: usize) -> Self {
        Self {
            paths: (0..links).map(|link| (link, 1)).collect(),
            rates: Vec::new(),
            reorder: reorder::Config::default(),
            mapping: Mapping::Adaptive,
            session: true,
            repair: Repair::Auto,
        }
    }
}

/// The way of packets from one host to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// The packets go through the tunnel of this number.
    Tunnel(usize),
    /// The packets go over the link of this number, beside all tunnels.
    Link(usize),
}

/// A flow without end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowPlan {
    /// The way of its packets.
    pub via: Via,
    /// Its sender.
    pub tcp: Config,
    /// Time from the beginning of the simulation to that of the flow.
    pub start: Duration,
}

/// Linux' lower limit of the retransmission timer (`TCP_RTO_MIN`).
const MINIMUM_RTO: Duration = Duration::from_millis(200);

impl FlowPlan {
    /// Returns a flow as Linux has them by default (cubic with HyStart, RACK-TLP, responses taken
    /// back).
    pub fn linux(via: Via) -> Self {
        let standard = Config::standard(Control::Cubic, Treatment::RackTlp);
        let tcp = Config { minimum_rto: MINIMUM_RTO, linux: true, ..standard };
        Self { via, tcp, start: Duration::ZERO }
    }

    /// Makes it the only flow on its links: see [`Config::trains`].
    #[must_use]
    pub fn single(mut self) -> Self {
        self.tcp.trains = true;
        self
    }
}

/// Sparse packets that are sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoPlan {
    /// The way of its packets.
    pub via: Via,
    /// The kind of its packets.
    pub kind: EchoKind,
    /// Time between two of them.
    pub interval: Duration,
}

/// Small packets at a steady pace in both directions, never sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPlan {
    /// The way of its packets.
    pub via: Via,
    /// Bytes of each IP packet.
    pub size: u64,
    /// Time between two of them.
    pub interval: Duration,
    /// True if their DSCP asks for expedited forwarding, so that a tunnel protects them.
    pub protected: bool,
}
