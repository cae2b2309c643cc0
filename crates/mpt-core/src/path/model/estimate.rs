//! The estimates of a path in the units that people read.

use std::time::Duration;

use super::state::Model;

/// The estimates that the sender of an adaptive connection has of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The rate at which the path is given packets, in bit/s, outer headers included.
    pub rate: u64,
    /// True once a bottleneck has shown itself, so that `rate` is the estimated capacity. Until
    /// then it is a limit that grows with the delivered rate.
    pub bottleneck_seen: bool,
    /// The rate at which packets arrive at the peer, in bit/s.
    pub delivered: u64,
    /// The time that packets wait in the path's queue.
    pub queue: Duration,
    /// The standard deviation of a packet's delay; zero below a millisecond.
    pub jitter: Duration,
    /// The least round-trip time of the path's probes.
    pub rtt: Duration,
    /// The share of about the latest two thousand packets that was lost.
    pub loss: f64,
    /// The number of times the rate was cut since a queue stood.
    pub cuts: u64,
    /// The time since the latest packet left that is known to have arrived, or `None` before the
    /// first. Data alone shows `queue` and `loss`, so they are as old as that.
    pub idle: Option<Duration>,
}

impl Model {
    /// Returns the estimates at `now` in the units that people read.
    pub(crate) fn estimate(&self, now: i64) -> Estimate {
        let bits = |rate: f64| (rate * 8e6) as u64;
        let time = |micros: f64| Duration::from_micros(micros.max(0.0) as u64);
        Estimate {
            rate: bits(self.rate),
            bottleneck_seen: self.is_bottleneck(),
            delivered: bits(self.rates.delivered()),
            queue: time(self.queue()),
            jitter: time(self.delays.sigma()),
            rtt: time(self.rtt()),
            loss: self.losses.share(),
            cuts: self.cuts,
            idle: self.rates.latest_sent().map(|sent| time((now - sent) as f64)),
        }
    }
}
