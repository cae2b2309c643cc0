//! The paths as the daemon at host a reports them, asked for again and again while the traffic
//! runs.

use std::collections::BTreeMap;
use std::time::Duration;

use mpt_api::{Connection, Path, Snapshot};

use crate::experiments::case::Series;
use crate::experiments::case::result::analysis;

/// The most answers that are kept: ten minutes of ten in a second.
const MOST: usize = 6000;

/// Answers so far.
#[derive(Debug)]
pub(crate) struct Watch {
    every: Duration,
    answers: Vec<Answer>,
}

/// An answer of the daemon.
#[derive(Debug)]
struct Answer {
    /// Time since the traffic began, in seconds.
    at: f64,
    /// Bytes in the queue of the connection.
    queue: f64,
    paths: BTreeMap<String, PathAnswer>,
}

#[derive(Debug, Clone, Copy, Default)]
struct PathAnswer {
    /// Bytes sent so far.
    sent: f64,
    /// The rate limit of the path, in Mbit/s.
    limit: f64,
    /// The length of its queue, in milliseconds.
    queue: f64,
    /// Its round-trip time, in milliseconds.
    rtt: f64,
}

impl Watch {
    pub(crate) fn new(every: Duration) -> Self {
        Self { every, answers: Vec::new() }
    }

    /// True if the daemon is to be asked again, so long after the traffic began.
    pub(crate) fn is_due(&self, elapsed: Duration) -> bool {
        let next = self.answers.last().map_or(0.0, |last| last.at + self.every.as_secs_f64());
        self.answers.len() < MOST && elapsed.as_secs_f64() >= next
    }

    /// Adds an answer, which came `elapsed` after the traffic began.
    pub(crate) fn add(&mut self, elapsed: Duration, snapshot: &Snapshot) {
        let Some(connection) = snapshot.connections.first() else { return };
        self.answers.push(Answer::of(elapsed.as_secs_f64(), connection));
    }

    /// Returns all of it over time, in intervals of [`analysis::STEP`], by names such as `path
    /// rate/path1`.
    pub(crate) fn series(&self, duration: Duration) -> BTreeMap<String, Series> {
        let step = analysis::STEP.as_secs_f64();
        // Half a step less than a whole one is taken for it.
        let steps = (duration.as_secs_f64() / step + 0.5) as usize;
        let mut series = BTreeMap::new();
        if self.answers.len() < 2 {
            return series;
        }
        let mut insert = |name: String, unit: &str, values: Vec<f64>| {
            series.insert(name, Series { unit: unit.into(), step, values });
        };
        let names: Vec<&String> = self.answers[0].paths.keys().collect();
        let mut rates: Vec<Vec<f64>> = Vec::new();
        for name in &names {
            let value = |of: fn(PathAnswer) -> f64| {
                move |answer: &Answer| of(answer.paths.get(*name).copied().unwrap_or_default())
            };
            let sent = |time| self.interpolated(time, value(|path| path.sent));
            let rate = |number: usize| {
                let from = number as f64 * step;
                (sent(from + step) - sent(from)) * 8.0 / 1e6 / step
            };
            let at_end = |of: fn(PathAnswer) -> f64| {
                let value = value(of);
                (0..steps).map(|number| self.latest((number + 1) as f64 * step, &value)).collect()
            };
            let path_rates: Vec<f64> = (0..steps).map(rate).collect();
            insert(format!("path rate/{name}"), "Mbit/s", path_rates.clone());
            insert(format!("path limit/{name}"), "Mbit/s", at_end(|path| path.limit));
            insert(format!("path queue/{name}"), "ms", at_end(|path| path.queue));
            insert(format!("path rtt/{name}"), "ms", at_end(|path| path.rtt));
            rates.push(path_rates);
        }
        let total = |number: usize| rates.iter().map(|path| path[number]).sum::<f64>();
        for (name, path) in names.iter().zip(&rates) {
            let share = |(number, &rate): (usize, &f64)| match total(number) {
                total if total > 0.0 => 100.0 * rate / total,
                _ => 0.0,
            };
            insert(format!("path share/{name}"), "%", path.iter().enumerate().map(share).collect());
        }
        let queue = |number: usize| {
            self.latest((number + 1) as f64 * step, &|answer: &Answer| answer.queue / 1e3)
        };
        insert("tunnel queue".into(), "kB", (0..steps).map(queue).collect());
        series
    }

    /// Returns what was said last at that time.
    fn latest(&self, time: f64, value: &impl Fn(&Answer) -> f64) -> f64 {
        let next = self.answers.partition_point(|answer| answer.at <= time);
        self.answers.get(next.saturating_sub(1)).map_or(0.0, value)
    }

    /// Returns a value at this time, on the straight line between the answers before and after it.
    fn interpolated(&self, time: f64, value: impl Fn(&Answer) -> f64) -> f64 {
        let next = self.answers.partition_point(|answer| answer.at <= time);
        let before = self.answers.get(next.saturating_sub(1));
        match (before, self.answers.get(next)) {
            (Some(before), Some(after)) if after.at > before.at => {
                let share = ((time - before.at) / (after.at - before.at)).clamp(0.0, 1.0);
                value(before) + share * (value(after) - value(before))
            }
            (Some(only), _) | (None, Some(only)) => value(only),
            (None, None) => 0.0,
        }
    }
}

impl Answer {
    fn of(at: f64, connection: &Connection) -> Self {
        let queue = connection.queue.as_ref().map_or(0.0, |queue| queue.bytes as f64);
        let path = |path: &Path| (path.name.clone(), PathAnswer::of(path));
        Self { at, queue, paths: connection.paths.iter().map(path).collect() }
    }
}

impl PathAnswer {
    fn of(path: &Path) -> Self {
        let estimate = path.estimate.unwrap_or_default();
        let rtt = path.liveness.as_ref().and_then(|liveness| liveness.rtt_us);
        Self {
            sent: path.sent.bytes as f64,
            limit: estimate.rate as f64 / 1e6,
            queue: estimate.queue_us as f64 / 1e3,
            rtt: rtt.unwrap_or(estimate.rtt_us) as f64 / 1e3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(at: f64, sent: [f64; 2], queue: f64) -> Answer {
        let path = |sent| PathAnswer { sent, limit: 1.0, queue, rtt: 40.0 + queue };
        let paths = [("path1", sent[0]), ("path2", sent[1])];
        let paths = paths.map(|(name, sent)| (name.to_owned(), path(sent)));
        Answer { at, queue: 1000.0 * queue, paths: paths.into() }
    }

    #[test]
    fn rates_and_shares_follow_from_what_was_sent() {
        let mut watch = Watch::new(Duration::from_millis(100));
        assert!(watch.is_due(Duration::ZERO));
        // Asked later than it should be, in the second interval.
        watch.answers.push(answer(0.0, [0.0, 0.0], 0.0));
        assert!(!watch.is_due(Duration::from_millis(99)));
        watch.answers.push(answer(0.15, [150_000.0, 0.0], 5.0));
        watch.answers.push(answer(0.3, [300_000.0, 300_000.0], 7.0));
        let series = watch.series(Duration::from_millis(300));
        let close = |name: &str, expected: [f64; 3]| {
            let values = &series[name].values;
            assert_eq!(values.len(), 3, "{name}");
            for (value, expected) in values.iter().zip(expected) {
                assert!((value - expected).abs() < 1e-9, "{name}: {values:?}");
            }
        };
        close("path rate/path1", [8.0, 8.0, 8.0]);
        close("path rate/path2", [0.0, 8.0, 16.0]);
        close("path share/path2", [0.0, 50.0, 200.0 / 3.0]);
        close("path queue/path1", [0.0, 5.0, 7.0]);
        close("path rtt/path2", [40.0, 45.0, 47.0]);
        close("tunnel queue", [0.0, 5.0, 7.0]);
        assert_eq!(series["path rate/path1"].unit, "Mbit/s");
    }

    #[test]
    fn without_answers_there_is_nothing() {
        let watch = Watch::new(Duration::from_millis(100));
        assert!(watch.series(Duration::from_secs(1)).is_empty());
    }
}
