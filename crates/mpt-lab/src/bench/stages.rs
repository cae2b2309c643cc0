//! What is measured, in which set-up.

/// One set-up of hosts, paths and, perhaps, daemons, and what is measured in it.
#[derive(Debug)]
pub(super) struct Stage {
    /// First half of its samples' names.
    pub(super) name: &'static str,
    /// Paths between the two hosts, none of them shaped.
    pub(super) paths: usize,
    /// Whether the paths' devices take TCP super-packets (TSO and GSO).
    pub(super) segmentation_offload: bool,
    /// The tunnel; `None`: the traffic goes over the first path directly.
    pub(super) tunnel: Option<TunnelSpec>,
    /// What is measured, in this order.
    pub(super) measures: &'static [Measure],
}

/// How the tunnel differs from the daemon's defaults.
#[derive(Debug)]
pub(super) struct TunnelSpec {
    /// Size of the reorder window, in packets; `None`: the default.
    pub(super) window: Option<u16>,
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

use Measure::{IdleMemory, Ping, Tcp, Udp};

const ONE_FLOW: Measure = Tcp { flows: 1 };
const FOUR_FLOWS: Measure = Tcp { flows: 4 };
const DEFAULT: Option<TunnelSpec> = Some(TunnelSpec { window: None });
const WINDOW_10000: Option<TunnelSpec> = Some(TunnelSpec { window: Some(10_000) });
const WINDOW_0: Option<TunnelSpec> = Some(TunnelSpec { window: Some(0) });

/// One round. What is compared stands close together.
pub(super) const STAGES: &[Stage] = &[
    Stage {
        name: "veth",
        paths: 1,
        segmentation_offload: true,
        tunnel: None,
        measures: &[Ping, ONE_FLOW, FOUR_FLOWS, Udp { payload: 64 }, Udp { payload: 1400 }],
    },
    Stage {
        name: "veth-no-tso",
        paths: 1,
        segmentation_offload: false,
        tunnel: None,
        measures: &[ONE_FLOW],
    },
    Stage {
        name: "tunnel-1-path",
        paths: 1,
        segmentation_offload: true,
        tunnel: DEFAULT,
        measures: &[Ping, ONE_FLOW, FOUR_FLOWS, Udp { payload: 64 }, Udp { payload: 1400 }],
    },
    Stage {
        name: "tunnel-2-paths",
        paths: 2,
        segmentation_offload: true,
        tunnel: DEFAULT,
        measures: &[ONE_FLOW, FOUR_FLOWS],
    },
    Stage {
        name: "tunnel-4-paths",
        paths: 4,
        segmentation_offload: true,
        tunnel: DEFAULT,
        measures: &[ONE_FLOW, FOUR_FLOWS],
    },
    Stage {
        name: "window-10000-1-path",
        paths: 1,
        segmentation_offload: true,
        tunnel: WINDOW_10000,
        measures: &[ONE_FLOW],
    },
    Stage {
        name: "window-0-1-path",
        paths: 1,
        segmentation_offload: true,
        tunnel: WINDOW_0,
        measures: &[ONE_FLOW],
    },
    Stage {
        name: "window-10000-2-paths",
        paths: 2,
        segmentation_offload: true,
        tunnel: WINDOW_10000,
        measures: &[IdleMemory, ONE_FLOW],
    },
    Stage {
        name: "window-0-2-paths",
        paths: 2,
        segmentation_offload: true,
        tunnel: WINDOW_0,
        measures: &[ONE_FLOW],
    },
];

impl Measure {
    /// Second half of its samples' names; the samples of one measure may add a third.
    pub(super) fn name(self) -> String {
        match self {
            IdleMemory => "idle-memory".into(),
            Ping => "ping".into(),
            Tcp { flows } => format!("tcp-{flows}"),
            Udp { payload } => format!("udp-{payload}"),
        }
    }
}
