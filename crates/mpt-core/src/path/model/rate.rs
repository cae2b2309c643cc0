//! How much a path delivers.

use std::collections::VecDeque;

use super::window::Recent;

/// Reports that are kept.
const MOST: usize = 64;
/// Shortest time over which a rate is taken, in microseconds.
const LEAST_SPAN: f64 = 100_000.0;
/// How long the greatest rate counts, at least, in microseconds.
const MEMORY: i64 = 2_000_000;

/// What one report says of a path.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// When the peer made it, by its clock.
    at: i64,
    /// Bytes that had come.
    received: u64,
    /// When the highest number that had come left, by our clock.
    sent_at: i64,
}

/// The rate at which a path delivers, in bytes per microsecond.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    points: VecDeque<Point>,
    delivered: f64,
    best: Recent,
}

impl Rates {
    pub(crate) fn new() -> Self {
        Self { points: VecDeque::new(), delivered: 0.0, best: Recent::greatest(MEMORY) }
    }

    /// A report: see [`Point`]. `limited`: the path was given as much as it might carry, so its rate is
    /// not the application's.
    pub(crate) fn record(&mut self, now: i64, (at, received): (i64, u64), sent_at: i64, rtt: f64) {
        let point = Point { at, received, sent_at };
        if self.points.back().is_some_and(|last| last.at >= at) {
            return;
        }
        if self.points.len() == MOST {
            self.points.pop_front();
        }
        self.points.push_back(point);
        let span = LEAST_SPAN.max(rtt);
        let first = self.points.iter().rev().find(|it| (at - it.at) as f64 >= span);
        let Some(first) = first.or(self.points.front()).copied() else { return };
        let interval = ((at - first.at) as f64).max((sent_at - first.sent_at) as f64);
        if interval < 0.4 * span.min(rtt) || interval <= 0.0 {
            return;
        }
        // A counter that runs backwards is a lie, or a peer that has begun anew.
        let bytes = received.saturating_sub(first.received);
        self.delivered = bytes as f64 / interval;
        self.best.record(now, self.delivered);
    }

    /// At present.
    pub(crate) fn delivered(&self) -> f64 {
        self.delivered
    }

    /// The greatest of the last seconds.
    pub(crate) fn best(&self) -> f64 {
        self.best.value().unwrap_or(0.0)
    }

    /// The path is another one from now on, or was idle.
    pub(crate) fn restart(&mut self) {
        self.points.clear();
    }
}
