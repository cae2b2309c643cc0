//! The rate at which a path delivers.

use std::collections::VecDeque;

use super::window::Recent;

/// Reports that are kept.
const MOST: usize = 64;
/// Shortest time over which a rate is taken, in microseconds.
const LEAST_SPAN: f64 = 100_000.0;
/// Shortest time over which the rate of bursts is taken, in microseconds.
const SHORT_SPAN: f64 = 20_000.0;
/// The time over which a rate is taken where delays wander, in standard deviations of the wandering. Packets that come three
/// deviations later than those before them, which is a reason for a cut, make such a rate a tenth less.
const WANDER_SPAN: f64 = 30.0;
/// The shortest time for which the greatest rate counts, in microseconds.
const MEMORY: i64 = 2_000_000;

/// The counters of one report on a path.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// The time of the report, by the peer's clock.
    at: i64,
    /// Bytes that had come.
    received: u64,
    /// The send time of the highest number that had arrived, by our clock.
    sent_at: i64,
    /// Bytes sent up to that number.
    sent: u64,
}

impl Point {
    /// Returns the rate since an earlier report, if that is at least `least` microseconds older.
    fn delivered_since(&self, first: Self, least: f64) -> Option<f64> {
        let interval = ((self.at - first.at) as f64).max((self.sent_at - first.sent_at) as f64);
        // A counter that runs backwards is a lie, or a peer that has begun anew.
        let bytes = self.received.saturating_sub(first.received);
        (interval >= least && interval > 0.0).then(|| bytes as f64 / interval)
    }
}

/// The rate at which a path delivers, in bytes per microsecond.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    points: VecDeque<Point>,
    delivered: f64,
    /// The rate at which the path was given the packets that make up [`Self::delivered`].
    given: f64,
    /// The latest rate over [`SHORT_SPAN`].
    latest: f64,
    /// The rate over [`WANDER_SPAN`], or [`Self::delivered`] where delays do not wander.
    steady: f64,
    best: Recent,
    /// The greatest over a short time.
    peak: Recent,
}

impl Rates {
    pub(crate) fn new() -> Self {
        Self {
            points: VecDeque::new(),
            delivered: 0.0,
            given: 0.0,
            latest: 0.0,
            steady: 0.0,
            best: Recent::greatest(MEMORY),
            peak: Recent::greatest(MEMORY),
        }
    }

    /// A report: see [`Point`]. `rtt` is the round-trip time of the path, `sigma` the standard deviation
    /// of its delay from packet to packet, and `wander` that of its slow changes, in microseconds.
    pub(crate) fn record(
        &mut self,
        now: i64,
        (at, received): (i64, u64),
        (sent_at, sent): (i64, u64),
        (rtt, sigma, wander): (f64, f64, f64),
    ) {
        let point = Point { at, received, sent_at, sent };
        if self.points.back().is_some_and(|last| last.at >= at) {
            return;
        }
        if self.points.len() == MOST {
            self.points.pop_front();
        }
        self.points.push_back(point);
        let span = LEAST_SPAN.max(rtt);
        let first = self.first(point, span);
        if let Some(delivered) = point.delivered_since(first, 0.4 * span.min(rtt)) {
            self.delivered = delivered;
            self.best.record(now, delivered);
        }
        let long = span.max(WANDER_SPAN * wander);
        let steady = point.delivered_since(self.first(point, long), span);
        self.steady = steady.map_or(self.delivered, |steady| steady.max(self.delivered));
        let interval = sent_at - first.sent_at;
        if interval > 0 {
            self.given = sent.saturating_sub(first.sent) as f64 / interval as f64;
        }
        let span = SHORT_SPAN.max(4.0 * sigma);
        if let Some(peak) = point.delivered_since(self.first(point, span), span) {
            self.latest = peak;
            self.peak.record(now, peak);
        }
    }

    /// Returns the latest report that is `span` older than `last`, or else the first one that is kept.
    fn first(&self, last: Point, span: f64) -> Point {
        let first = self.points.iter().rev().find(|it| (last.at - it.at) as f64 >= span);
        first.or(self.points.front()).copied().unwrap_or(last)
    }

    /// Returns the send time of the latest packet that is known to have arrived, by our clock, or
    /// `None` before the first.
    pub(crate) fn latest_sent(&self) -> Option<i64> {
        self.points.back().map(|point| point.sent_at)
    }

    /// At present.
    pub(crate) fn delivered(&self) -> f64 {
        self.delivered
    }

    /// Returns the rate at which the path was given the packets that it delivers at present.
    pub(crate) fn given(&self) -> f64 {
        self.given
    }

    /// At present, by the longer or the shorter time, whichever shows more: in a burst that has just begun the
    /// longer one includes the pause before it.
    pub(crate) fn in_burst(&self) -> f64 {
        self.delivered.max(self.latest)
    }

    /// At present, by the usual or a longer time where delays wander, whichever shows more: packets that come later than
    /// those before them make the rate of a short time less, whatever the path carries.
    pub(crate) fn despite_wander(&self) -> f64 {
        self.steady
    }

    /// The greatest of the last seconds.
    pub(crate) fn best(&self) -> f64 {
        self.best.value().unwrap_or(0.0)
    }

    /// The greatest of the last seconds over a short time: what bursts have shown.
    pub(crate) fn peak(&self) -> f64 {
        self.peak.value().unwrap_or(0.0).max(self.best())
    }

    /// The path is another one from now on, or was idle.
    pub(crate) fn restart(&mut self) {
        self.points.clear();
    }
}
