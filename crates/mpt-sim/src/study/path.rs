//! Paths of the study.

use std::time::Duration;

use mpt_link::{Bitrate, Distribution, Jitter, Loss, Params, QueueLimit, Redraw};

use crate::network::{Network, Route};

/// One path: a link, alike in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathPlan {
    /// Rate of the link.
    pub rate: Bitrate,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Changes of the delay; `None` if it is constant.
    pub fluctuation: Option<Fluctuation>,
    /// Packets that may wait, the one in transmission not counted.
    pub queue: usize,
    /// Random loss of data; acknowledgements are not lost.
    pub loss: Loss,
}

/// A delay that changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fluctuation {
    /// Largest deviation as a share of the delay, up and down; uniformly distributed.
    pub share: f64,
    /// The times at which the delay is drawn anew.
    pub redraw: Redraw,
}

impl PathPlan {
    /// Returns a path of the study: 0.5 Mbit/s, 100 packets of queue, +-5 % of delay drawn anew every second.
    pub fn study(delay: Duration) -> Self {
        Self { fluctuation: Some(Fluctuation::STUDY), ..Self::constant(delay) }
    }

    /// Returns a path of the study without fluctuation.
    pub fn constant(delay: Duration) -> Self {
        Self {
            rate: const { Bitrate::new(500_000).unwrap() },
            delay,
            fluctuation: None,
            queue: 100,
            loss: Loss::None,
        }
    }

    fn params(&self) -> Params {
        let jitter = self.fluctuation.map(|Fluctuation { share, redraw }| Jitter {
            distribution: Distribution::Uniform { half_width: self.delay.mul_f64(share) },
            redraw,
        });
        Params {
            rate: Some(self.rate),
            queue: QueueLimit::Packets(self.queue),
            delay: self.delay,
            jitter,
            loss: self.loss,
            ..Params::default()
        }
    }
}

impl Fluctuation {
    /// The fluctuation that fits Tables I and II: +-5 %, drawn anew once a second (docs/simulation.md).
    pub const STUDY: Self = Self { share: 0.05, redraw: Redraw::Every(Duration::from_secs(1)) };
}

/// Returns a network of these paths, which share nothing. The delay of both directions of a path changes together.
pub fn join(paths: &[PathPlan], seed: u64) -> (Network, Vec<Route>) {
    let mut network = Network::new();
    let routes = (0..)
        .zip(paths)
        .map(|(stream, path)| {
            let params = path.params();
            let forward = network.add(params, seed, stream);
            let backward = network.add(Params { loss: Loss::None, ..params }, seed, stream);
            Route { forward, backward, detour: Duration::ZERO }
        })
        .collect();
    (network, routes)
}
