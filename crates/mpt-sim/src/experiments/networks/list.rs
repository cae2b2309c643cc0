//! Networks of two paths: thirteen of a public report, and more that lose packets.
//!
//! The thirteen are those of a public report (mqvpn, 2026-06-18, 16 netem profiles), so that others can be compared. Every link
//! has a drop-tail queue of 100 ms in front, delay and jitter hold for each packet by itself and in both directions, and
//! losses are random and independent.

use std::time::Duration;

use mpt_link::{Loss, Probability};

use crate::tunnel::Path;

/// A network of two paths.
pub(super) struct Network {
    /// Its name.
    pub(super) name: &'static str,
    paths: [Uplink; 2],
    /// Mean number of packets that are lost in a row; `None` where each is lost independently.
    burst: Option<f64>,
}

/// Rate in Mbit/s, delay one way and its standard deviation in ms, and loss in percent.
type Uplink = (u16, u64, u64, f64);

/// The thirteen networks of the report.
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

/// Networks that lose packets in other ways than the thirteen do.
static LOSSY: [Network; 6] = [
    of("slow_loss_5", (100, 20, 0, 0.0), (10, 20, 0, 5.0)),
    of("one_loss_1", (100, 20, 0, 0.0), (100, 20, 0, 1.0)),
    both("both_loss_3", (100, 20, 0, 3.0)),
    both("far_loss_1", (50, 150, 0, 1.0)),
    both("bursts_5", (50, 20, 0, 2.0)).in_bursts(5.0),
    both("bursts_20", (50, 20, 0, 2.0)).in_bursts(20.0),
];

/// The names of the thirteen.
pub(in super::super) const NAMES: [&str; 13] = {
    let mut names = [""; 13];
    let mut index = 0;
    while index < names.len() {
        names[index] = ALL[index].name;
        index += 1;
    }
    names
};

/// Returns the network of this name.
pub(super) fn find(name: &str) -> Option<&'static Network> {
    ALL.iter().chain(&LOSSY).find(|network| network.name == name)
}

const fn of(name: &'static str, a: Uplink, b: Uplink) -> Network {
    Network { name, paths: [a, b], burst: None }
}

const fn both(name: &'static str, path: Uplink) -> Network {
    of(name, path, path)
}

impl Network {
    const fn in_bursts(mut self, length: f64) -> Self {
        self.burst = Some(length);
        self
    }

    /// Returns its links. Weights are in proportion to the rates.
    pub(super) fn links(&self) -> Vec<Path> {
        let link = |&(rate, delay, jitter, loss): &Uplink| Path {
            jitter: Duration::from_millis(jitter),
            loss: self.loss(Probability::new(loss / 100.0).unwrap_or_default()),
            ..Path::new(rate, Duration::from_millis(delay))
        };
        self.paths.iter().map(link).collect()
    }

    fn loss(&self, mean: Probability) -> Loss {
        self.burst.and_then(|length| Loss::bursts(mean, length)).unwrap_or(mean.into())
    }

    /// Returns what headers leave of its rates, in Mbit/s.
    pub(super) fn limit(&self) -> f64 {
        /// Share of a rate that is payload: 1412 of 1514 bytes, and something for acknowledgements.
        const PAYLOAD: f64 = 0.935;
        PAYLOAD * self.paths.iter().map(|&(rate, ..)| f64::from(rate)).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_those_of_the_list_whether_in_bursts_or_not() {
        for network in ALL.iter().chain(&LOSSY) {
            for (link, (.., percent)) in network.links().iter().zip(network.paths) {
                let in_bursts = matches!(link.loss, Loss::GilbertElliott { .. });
                assert_eq!(in_bursts, network.burst.is_some(), "{}", network.name);
                let mean = link.loss.mean().value();
                assert!((mean - percent / 100.0).abs() < 1e-12, "{}: {mean}", network.name);
            }
        }
    }
}
