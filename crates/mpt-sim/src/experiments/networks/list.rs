//! Thirteen networks of two paths.
//!
//! They are those of a public report (mqvpn, 2026-06-18, 16 netem profiles), so that others can be compared. Every link
//! has a drop-tail queue of 100 ms in front, delay and jitter hold for each packet by itself and in both directions, and
//! losses are random and independent.

use std::time::Duration;

use mpt_link::Probability;

use crate::tunnel::Path;

/// What there is of a network.
pub(super) struct Network {
    /// Its name.
    pub(super) name: &'static str,
    paths: [Uplink; 2],
}

/// Rate in Mbit/s, delay one way and its standard deviation in ms, and loss in percent.
type Uplink = (u16, u64, u64, f64);

/// All of them.
pub(super) static ALL: [Network; 13] = [
    both("baseline", (50, 20, 0, 0.0)),
    of("rtt_70", (50, 20, 0, 0.0), (50, 70, 0, 0.0)),
    of("rtt_120", (50, 20, 0, 0.0), (50, 120, 0, 0.0)),
    of("rtt_320", (50, 20, 0, 0.0), (50, 320, 0, 0.0)),
    both("jit_5", (50, 20, 5, 0.0)),
    both("jit_20", (50, 20, 20, 0.0)),
    both("loss_05", (50, 20, 0, 0.5)),
    both("loss_2", (50, 20, 0, 2.0)),
    of("bw_4to1", (50, 20, 0, 0.0), (12, 20, 0, 0.0)),
    of("bw_10to1", (100, 20, 0, 0.0), (10, 20, 0, 0.0)),
    of("fiber_lte", (300, 8, 0, 0.0), (30, 40, 8, 0.5)),
    of("lte_starlink", (40, 35, 8, 0.0), (100, 50, 25, 1.0)),
    of("congested", (20, 50, 20, 2.0), (15, 60, 25, 2.0)),
];

/// Their names.
pub(in super::super) const NAMES: [&str; 13] = {
    let mut names = [""; 13];
    let mut index = 0;
    while index < names.len() {
        names[index] = ALL[index].name;
        index += 1;
    }
    names
};

/// The network of this name.
pub(super) fn find(name: &str) -> Option<&'static Network> {
    ALL.iter().find(|network| network.name == name)
}

const fn of(name: &'static str, a: Uplink, b: Uplink) -> Network {
    Network { name, paths: [a, b] }
}

const fn both(name: &'static str, path: Uplink) -> Network {
    of(name, path, path)
}

impl Network {
    /// Its links. Weights are in proportion to the rates.
    pub(super) fn links(&self) -> Vec<Path> {
        let link = |&(rate, delay, jitter, loss): &Uplink| Path {
            jitter: Duration::from_millis(jitter),
            loss: Probability::new(loss / 100.0).unwrap_or_default(),
            ..Path::new(rate, Duration::from_millis(delay))
        };
        self.paths.iter().map(link).collect()
    }

    /// What headers leave of its rates, in Mbit/s.
    pub(super) fn limit(&self) -> f64 {
        /// Share of a rate that is payload: 1412 of 1514 bytes, and something for acknowledgements.
        const PAYLOAD: f64 = 0.935;
        PAYLOAD * self.paths.iter().map(|&(rate, ..)| f64::from(rate)).sum::<f64>()
    }
}
