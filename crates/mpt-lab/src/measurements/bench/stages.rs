//! The stages of the benchmark: set-ups, and what is measured in each.

use crate::processes::daemon::{Data, Mapping, Session, Settings};

/// One set-up of hosts, paths and, perhaps, daemons, and its measurements.
#[derive(Debug)]
pub(super) struct Stage {
    /// First half of its samples' names.
    pub(super) name: &'static str,
    /// Paths between the two hosts, none of them shaped.
    pub(super) paths: usize,
    /// True if the paths' devices take TCP super-packets (TSO and GSO).
    pub(super) segmentation_offload: bool,
    /// The carrier of the traffic.
    pub(super) carrier: Carrier,
    /// The measurements.
    pub(super) measures: &'static [Measure],
}

/// The carrier of the traffic.
#[derive(Debug, Clone, Copy)]
pub(super) enum Carrier {
    /// The first path.
    Path,
    /// A tunnel of mpt, over all paths.
    Tunnel(Settings),
    /// WireGuard in user space, over the first path.
    WireguardGo,
}

/// One measurement. Those of a stage are made in the order of the variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Measure {
    /// Resident memory of the daemons before any traffic.
    IdleMemory,
    /// Round-trip times of an idle path or tunnel.
    Ping,
    /// Goodput of parallel TCP flows; through a tunnel also CPU time at both ends.
    Tcp {
        /// Number of flows.
        flows: u8,
    },
    /// The highest rate of UDP packets at less than 1 % loss.
    Udp {
        /// UDP payload in bytes.
        payload: u16,
    },
    /// CPU time that both daemons take for a UDP packet, at a rate that any machine carries.
    UdpCpu {
        /// UDP payload in bytes.
        payload: u16,
    },
}

impl Carrier {
    /// True if all paths carry in proportion to their weights, which are equal here. Adaptive mapping leaves a path alone while the
    /// others have room.
    pub(super) fn spreads_by_weights(self) -> bool {
        match self {
            Self::Tunnel(settings) => {
                settings.session.is_none_or(|session| matches!(session.mapping, Mapping::Packet))
            }
            Self::Path | Self::WireguardGo => false,
        }
    }
}

use Measure::{IdleMemory, Ping, Tcp, Udp, UdpCpu};

const ONE_FLOW: Measure = Tcp { flows: 1 };
const FOUR_FLOWS: Measure = Tcp { flows: 4 };
/// The measurements that are compared between plain and sealed data.
const SEALING: &[Measure] = &[ONE_FLOW, Udp { payload: 64 }, UdpCpu { payload: 64 }];
const DEFAULT: Carrier = Carrier::Tunnel(Settings { window: None, session: None });
const WINDOW_10000: Carrier = Carrier::Tunnel(Settings { window: Some(10_000), session: None });
const WINDOW_0: Carrier = Carrier::Tunnel(Settings { window: Some(0), session: None });
const PLAIN: Carrier = with_session(Data::Plain);
const AES: Carrier = with_session(Data::Aes256Gcm);
const CHACHA20: Carrier = with_session(Data::Chacha20Poly1305);

/// The tunnel of a user who configures keys and addresses alone.
const USUAL: Carrier = session(Data::Aes256Gcm, Mapping::Usual);
const USUAL_PLAIN: Carrier = session(Data::Plain, Mapping::Usual);

const fn with_session(data: Data) -> Carrier {
    session(data, Mapping::Packet)
}

const fn session(data: Data, mapping: Mapping) -> Carrier {
    Carrier::Tunnel(Settings { window: None, session: Some(Session { data, mapping }) })
}

/// The stages of one round, in groups of those that are compared.
pub(super) const GROUPS: &[&[Stage]] = &[BARE, WINDOWS_1, WINDOWS_2, SESSIONS_1, SESSIONS_2];

/// The tunnel beside the same machine without it.
const BARE: &[Stage] = &[
    Stage {
        name: "veth",
        paths: 1,
        segmentation_offload: true,
        carrier: Carrier::Path,
        measures: &[Ping, ONE_FLOW, FOUR_FLOWS, Udp { payload: 64 }, Udp { payload: 1400 }],
    },
    Stage {
        name: "veth-no-tso",
        paths: 1,
        segmentation_offload: false,
        carrier: Carrier::Path,
        measures: &[ONE_FLOW],
    },
    Stage {
        name: "tunnel-1-path",
        paths: 1,
        segmentation_offload: true,
        carrier: DEFAULT,
        measures: &[Ping, ONE_FLOW, FOUR_FLOWS, Udp { payload: 64 }, Udp { payload: 1400 }],
    },
    Stage {
        name: "tunnel-2-paths",
        paths: 2,
        segmentation_offload: true,
        carrier: DEFAULT,
        measures: &[ONE_FLOW, FOUR_FLOWS],
    },
    Stage {
        name: "tunnel-4-paths",
        paths: 4,
        segmentation_offload: true,
        carrier: DEFAULT,
        measures: &[ONE_FLOW, FOUR_FLOWS],
    },
];

/// Reordering over one path.
const WINDOWS_1: &[Stage] = &[
    Stage {
        name: "window-10000-1-path",
        paths: 1,
        segmentation_offload: true,
        carrier: WINDOW_10000,
        measures: &[ONE_FLOW],
    },
    Stage {
        name: "window-0-1-path",
        paths: 1,
        segmentation_offload: true,
        carrier: WINDOW_0,
        measures: &[ONE_FLOW],
    },
];

/// Reordering over two paths.
const WINDOWS_2: &[Stage] = &[
    Stage {
        name: "window-10000-2-paths",
        paths: 2,
        segmentation_offload: true,
        carrier: WINDOW_10000,
        measures: &[IdleMemory, ONE_FLOW],
    },
    Stage {
        name: "window-0-2-paths",
        paths: 2,
        segmentation_offload: true,
        carrier: WINDOW_0,
        measures: &[ONE_FLOW],
    },
];

/// Sealed data and adaptive mapping over one path.
const SESSIONS_1: &[Stage] = &[
    Stage {
        name: "session-plain-1-path",
        paths: 1,
        segmentation_offload: true,
        carrier: PLAIN,
        measures: SEALING,
    },
    Stage {
        name: "adaptive-plain-1-path",
        paths: 1,
        segmentation_offload: true,
        carrier: USUAL_PLAIN,
        measures: &[ONE_FLOW, FOUR_FLOWS, Udp { payload: 64 }],
    },
    Stage {
        name: "session-aes-1-path",
        paths: 1,
        segmentation_offload: true,
        carrier: AES,
        measures: SEALING,
    },
    Stage {
        name: "adaptive-aes-1-path",
        paths: 1,
        segmentation_offload: true,
        carrier: USUAL,
        measures: &[Ping, ONE_FLOW, Udp { payload: 64 }],
    },
    Stage {
        name: "session-chacha20-1-path",
        paths: 1,
        segmentation_offload: true,
        carrier: CHACHA20,
        measures: &[ONE_FLOW],
    },
    Stage {
        name: "wireguard-go",
        paths: 1,
        segmentation_offload: true,
        carrier: Carrier::WireguardGo,
        measures: &[ONE_FLOW],
    },
];

/// Sealed data and adaptive mapping over two paths.
const SESSIONS_2: &[Stage] = &[
    Stage {
        name: "session-plain-2-paths",
        paths: 2,
        segmentation_offload: true,
        carrier: PLAIN,
        measures: &[ONE_FLOW],
    },
    Stage {
        name: "adaptive-plain-2-paths",
        paths: 2,
        segmentation_offload: true,
        carrier: USUAL_PLAIN,
        measures: &[ONE_FLOW],
    },
    Stage {
        name: "session-aes-2-paths",
        paths: 2,
        segmentation_offload: true,
        carrier: AES,
        measures: &[ONE_FLOW],
    },
    Stage {
        name: "adaptive-aes-2-paths",
        paths: 2,
        segmentation_offload: true,
        carrier: USUAL,
        measures: &[ONE_FLOW],
    },
    Stage {
        name: "session-chacha20-2-paths",
        paths: 2,
        segmentation_offload: true,
        carrier: CHACHA20,
        measures: &[ONE_FLOW],
    },
];

impl Measure {
    /// Returns the second half of its samples' names; the samples of one measure may add a third.
    pub(super) fn name(self) -> String {
        match self {
            IdleMemory => "idle-memory".into(),
            Ping => "ping".into(),
            Tcp { flows } => format!("tcp-{flows}"),
            Udp { payload } => format!("udp-{payload}"),
            UdpCpu { payload } => format!("udp-{payload}-cpu"),
        }
    }
}
