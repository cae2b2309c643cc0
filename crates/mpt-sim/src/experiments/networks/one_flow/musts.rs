//! Throughputs that a tunnel that measures its paths has to reach.

/// A demand, in Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::experiments::networks) enum Must {
    /// At least this rate.
    AtLeast(f64),
    /// At least this share of the rate that the better path carries alone.
    OfTheBetterPath(f64),
}

/// Share of the better path that is demanded where losses limit a flow.
const NEARLY_ALL: f64 = 0.97;

/// Demands by the name of the network.
pub(in crate::experiments::networks) type Musts = [(&'static str, Must)];

/// The demands on the thirteen networks, which also hold without repair of losses.
pub(in crate::experiments::networks) static REAL: [(&str, Must); 13] = [
    ("baseline", Must::AtLeast(89.0)),
    ("rtt_70", Must::AtLeast(89.0)),
    ("rtt_120", Must::AtLeast(87.0)),
    ("rtt_320", Must::AtLeast(58.0)),
    ("jit_5", Must::AtLeast(89.0)),
    ("jit_20", Must::AtLeast(75.0)),
    ("loss_05", Must::OfTheBetterPath(NEARLY_ALL)),
    ("loss_2", Must::OfTheBetterPath(NEARLY_ALL)),
    ("bw_4to1", Must::AtLeast(55.0)),
    ("bw_10to1", Must::AtLeast(98.0)),
    ("fiber_lte", Must::AtLeast(275.0)),
    ("lte_starlink", Must::AtLeast(25.0)),
    ("congested", Must::OfTheBetterPath(NEARLY_ALL)),
];

/// The demands on networks that lose packets, where losses are repaired.
pub(in crate::experiments::networks) static LOSSY: [(&str, Must); 11] = [
    ("loss_05", Must::AtLeast(84.0)),
    ("loss_2", Must::AtLeast(76.0)),
    ("fiber_lte", Must::AtLeast(292.0)),
    ("lte_starlink", Must::AtLeast(105.0)),
    ("congested", Must::AtLeast(22.0)),
    ("slow_loss_5", Must::AtLeast(98.0)),
    ("one_loss_1", Must::AtLeast(180.0)),
    ("both_loss_3", Must::AtLeast(165.0)),
    // Six tenths of the goodput that the rates allow with headers.
    ("far_loss_1", Must::AtLeast(56.1)),
    ("bursts_5", Must::AtLeast(70.0)),
    ("bursts_20", Must::AtLeast(70.0)),
];

impl Must {
    /// Returns the demand on the network of this name.
    pub(in crate::experiments::networks) fn of(musts: &Musts, name: &str) -> Option<Self> {
        musts.iter().find(|(it, _)| *it == name).map(|(_, must)| *must)
    }

    /// Returns the rate that meets the demand, where the better path carries `better` alone; `None` where that is not known.
    pub(in crate::experiments::networks) fn rate(self, better: Option<f64>) -> Option<f64> {
        match self {
            Self::AtLeast(rate) => Some(rate),
            Self::OfTheBetterPath(share) => better.map(|better| share * better),
        }
    }
}
