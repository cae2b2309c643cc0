//! Ways to use two paths.

use std::time::Duration;

use mpt_core::Mapping;

use crate::tunnel::{EchoKind, EchoPlan, FlowPlan, Path, Scene, TunnelPlan, Via, WARM_UP};

/// A way to use two paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Plain TCP over one of them, without a tunnel.
    Alone(usize),
    /// A tunnel with weights in proportion to the rates.
    Weights,
    /// A tunnel that knows no rates: equal weights.
    Equal,
    /// A tunnel that knows no rates, and measures.
    Adaptive,
}

/// All methods, in the order of the tables.
pub(super) const ALL: [Method; 5] =
    [Method::Alone(0), Method::Alone(1), Method::Weights, Method::Equal, Method::Adaptive];

/// The names of the ways to use two paths.
pub const METHODS: [&str; 5] = ["a-alone", "b-alone", "weights", "equal", "adaptive"];

/// Time between two packets of ping.
const PING_INTERVAL: Duration = Duration::from_millis(50);

impl Method {
    /// Returns those of these names; all of them where none is named.
    pub(super) fn chosen(names: &[String]) -> Vec<Self> {
        ALL.into_iter().filter(|method| method.is_chosen(names)).collect()
    }

    /// True if its name is one of these; true if none is named.
    pub(super) fn is_chosen(self, names: &[String]) -> bool {
        names.is_empty() || names.iter().any(|it| it == self.name())
    }

    /// Returns the methods of these names that have a tunnel, where all rates are alike, so that their proportion says nothing.
    pub(super) fn chosen_tunnels(names: &[String]) -> Vec<Self> {
        let mut methods = Self::chosen(names);
        methods.retain(|method| matches!(method, Self::Equal | Self::Adaptive));
        methods
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Alone(0) => METHODS[0],
            Self::Alone(_) => METHODS[1],
            Self::Weights => METHODS[2],
            Self::Equal => METHODS[3],
            Self::Adaptive => METHODS[4],
        }
    }

    /// Returns its tunnel over `links`, if it has one.
    pub(super) fn tunnel(self, links: &[Path]) -> Option<TunnelPlan> {
        let mapping = match self {
            Self::Alone(_) => return None,
            Self::Weights | Self::Equal => Mapping::Packet,
            Self::Adaptive => Mapping::Adaptive,
        };
        let weight = |path: &Path| if self == Self::Weights { path.weight } else { 1 };
        let paths = links.iter().enumerate().map(|(link, path)| (link, weight(path))).collect();
        Some(TunnelPlan { paths, mapping, ..TunnelPlan::adaptive(links.len()) })
    }

    /// Returns a scene of one flow of `duration` over `links`, with ping beside it.
    pub(super) fn scene(self, links: Vec<Path>, duration: Duration, seed: u64) -> Scene {
        let via = match self {
            Self::Alone(link) => Via::Link(link),
            _ => Via::Tunnel(0),
        };
        Scene {
            tunnels: self.tunnel(&links).into_iter().collect(),
            links,
            flows: vec![FlowPlan::linux(via).single()],
            echoes: vec![EchoPlan { via, kind: EchoKind::Icmp, interval: PING_INTERVAL }],
            streams: Vec::new(),
            changes: Vec::new(),
            warm_up: WARM_UP,
            duration,
            seed,
        }
    }
}
