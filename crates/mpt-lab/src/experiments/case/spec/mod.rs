//! The specification of one measurement, with nothing left open: the same specification gives the same measurement. How long it will take follows from it.

pub(super) mod duration;

use std::collections::BTreeMap;
use std::time::Duration;

use mpt_link::{Change, Params};
use serde::{Deserialize, Serialize};

use super::Observation;

/// One measurement: a network, a way to use it, and traffic over it.
///
/// The traffic goes from host `a` to host `b`: `forward` is the direction from `a` to `b`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseSpec {
    /// The links between the two hosts, and their properties.
    pub(crate) network: NetworkSpec,
    /// The backend that makes the links.
    pub(crate) backend: Backend,
    /// The method by which the traffic uses them.
    pub(crate) method: Method,
    /// The traffic.
    pub(crate) traffic: Traffic,
    /// The events during the traffic.
    pub(crate) events: Vec<Event>,
    /// The observations besides the traffic.
    #[serde(default, skip_serializing_if = "Observation::is_usual")]
    pub(crate) observation: Observation,
    /// True if TCP connections of the hosts understand ECN.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) ecn: bool,
    /// True to steer received packets (RPS) on all devices of both hosts.
    pub(crate) receive_steering: bool,
    /// The divisor of the paper's rates (delays are kept, windows scaled with the rate); 1 for none.
    pub(crate) scale: f64,
    /// Seed of all random decisions of the links.
    pub(crate) seed: u64,
    /// Number of the repetition, from 0; each has another seed.
    pub(crate) repetition: u32,
}

/// The links between the two hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NetworkSpec {
    /// The transmitters, each with a queue, through which the links lead.
    pub(crate) channels: Vec<ChannelSpec>,
    /// The links, each with a device of its name at both hosts.
    pub(crate) links: Vec<LinkSpec>,
}

/// A transmitter with its queue and the wire behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChannelSpec {
    /// Name in reports.
    pub(crate) name: String,
    /// Its parameters.
    pub(crate) params: Params,
    /// Changes, each with its time after the beginning of the traffic.
    #[serde(default)]
    pub(crate) schedule: Vec<(Duration, Change)>,
    /// The medium, if stations share it and take turns.
    #[serde(default)]
    pub(crate) medium: Option<MediumSpec>,
    /// True for a queue that serves flows in turns and keeps each of them short (FQ-CoDel, RFC 8290).
    // Left out where it is not set, so that measurements without it keep their names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) fair: bool,
}

/// A half-duplex medium: one station at a time, and each access costs time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MediumSpec {
    /// Time before a station's transmissions, whenever another one had the medium or the burst is used up.
    pub(crate) access: Duration,
    /// The longest a station transmits on one access.
    pub(crate) burst: Duration,
}

/// A link between the hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkSpec {
    /// Its name, and that of its devices.
    pub(crate) name: String,
    /// Indices of the channels that packets pass from `a` to `b`, in this order.
    pub(crate) forward: Vec<usize>,
    /// Indices of the channels that packets pass from `b` to `a`. A channel that stands in both is half-duplex.
    pub(crate) backward: Vec<usize>,
    /// MTU of its devices, in bytes.
    pub(crate) mtu: u16,
}

/// The backend that makes the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Backend {
    /// The emulator of the laboratory, in user space.
    Emulator,
    /// The kernel's `tbf` and `netem` on a bridge between the hosts.
    Kernel,
}

/// The method by which the traffic uses the links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub(crate) enum Method {
    /// The traffic goes over the first link alone, without a tunnel. (A specification has only the links that it uses.)
    Plain,
    /// Multipath TCP of the kernel over all links.
    Mptcp,
    /// A tunnel of mpt over all links.
    Tunnel(TunnelSpec),
    /// A tunnel by another program, described by the adapter of this name.
    Adapter {
        /// Name of the adapter.
        name: String,
    },
}

/// The specification of a tunnel of mpt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TunnelSpec {
    /// Inner IP version, 4 or 6.
    pub(crate) inner: u8,
    /// Outer IP version, 4 or 6.
    pub(crate) outer: u8,
    /// True for a control session between the ends (liveness, measured paths); without it the tunnel is that of the papers.
    pub(crate) session: bool,
    /// True for a second connection between the same daemons, over the same paths.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) second_connection: bool,
    /// Keys of `[[connection]]` for both ends, as in the daemon's configuration; what is not named has its default.
    #[serde(default)]
    pub(crate) connection: BTreeMap<String, toml::Value>,
    /// Keys of each `[[connection.path]]` at end `a`, by link; `weight` usually.
    #[serde(default)]
    pub(crate) paths_a: Vec<BTreeMap<String, toml::Value>>,
    /// Keys of each `[[connection.path]]` at end `b`, by link.
    #[serde(default)]
    pub(crate) paths_b: Vec<BTreeMap<String, toml::Value>>,
}

/// The traffic of a measurement, from `a` to `b`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub(crate) enum Traffic {
    /// TCP for a time.
    Tcp {
        /// Number of flows.
        flows: u16,
        /// Duration.
        duration: Duration,
        /// Congestion control, set explicitly for the flow.
        congestion: String,
        /// True for flows of the laboratory, of which it is known when they began; otherwise the flows are those of iperf3.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        own: bool,
    },
    /// UDP by iperf3 at a rate.
    Udp {
        /// Bits per second of payload.
        rate: u64,
        /// Duration.
        duration: Duration,
        /// Payload of each datagram, in bytes.
        size: u16,
    },
    /// A stream of numbered datagrams at regular intervals, as of a video call.
    Rtp {
        /// Bits per second of payload.
        rate: u64,
        /// Payload of each datagram, in bytes.
        size: u16,
        /// Duration.
        duration: Duration,
        /// True to send from `b` to `a` as well.
        // Left out where it is not set, so that measurements without it keep their names.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        both_ways: bool,
        /// The DSCP of its packets (RFC 2474), 0 to 63; `None`: 0.
        // Left out where it is not set, as above.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dscp: Option<u8>,
    },
    /// Echo requests.
    Ping {
        /// Number of requests.
        count: u32,
        /// Time between two of them.
        interval: Duration,
    },
    /// A file fetched by a real client from a real server.
    Download {
        /// `ftp` or `http`.
        protocol: Protocol,
        /// Its size in bytes.
        bytes: u64,
        /// Congestion control of the server's host.
        congestion: String,
        /// Time after which it is given up; the part that had arrived counts.
        limit: Duration,
    },
}

/// The protocol by which a file is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Protocol {
    /// FTP, passive mode.
    Ftp,
    /// HTTP/1.1.
    Http,
}

/// An event while the traffic runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Event {
    /// Time since the traffic began.
    pub(crate) after: Duration,
    /// The action.
    pub(crate) action: Action,
}

/// The action of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do", deny_unknown_fields)]
pub(crate) enum Action {
    /// Both ends of a link lose their carrier.
    CarrierLost {
        /// Index of the link.
        link: usize,
    },
    /// The carrier comes back.
    CarrierBack {
        /// Index of the link.
        link: usize,
    },
    /// The link swallows everything, in both directions, and nobody is told.
    BlackHole {
        /// Index of the link.
        link: usize,
    },
    /// The link carries packets again.
    BlackHoleEnds {
        /// Index of the link.
        link: usize,
    },
    /// The administrator takes a path of the tunnel down at end `a`.
    PathDown {
        /// Index of the link.
        link: usize,
    },
    /// The administrator takes it up.
    PathUp {
        /// Index of the link.
        link: usize,
    },
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, link) = match self {
            Action::CarrierLost { link } => ("carrier-lost", link),
            Action::CarrierBack { link } => ("carrier-back", link),
            Action::BlackHole { link } => ("black-hole", link),
            Action::BlackHoleEnds { link } => ("black-hole-ends", link),
            Action::PathDown { link } => ("path-down", link),
            Action::PathUp { link } => ("path-up", link),
        };
        write!(f, "{what}, link {}", link + 1)
    }
}
