//! The measurements of each path in the last day, in three resolutions.

use std::collections::{HashMap, VecDeque};

use mpt_api::snapshot::{Path, Snapshot};
use serde::Serialize;

use crate::monitoring::measured::Measured;

/// The most paths of which there is a history, 18 MB of it. Those that have been away longest make room for new ones.
const MOST: usize = 256;

/// Seconds from one point to the next, and the number of points kept: ten minutes, two hours, a day.
const RESOLUTIONS: [(u64, usize); 3] = [(1, 600), (10, 720), (60, 1_440)];

/// The values of a point.
const VALUES: usize = 5;

/// Means over the time of a point: bits sent and received per second, round-trip time and queue in milliseconds, and loss in percent. Not a number where nothing
/// was measured.
type Values = [f32; VALUES];

/// Names a value of a point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Measure {
    /// Bits sent per second.
    Sent,
    /// Bits received per second.
    Received,
    /// Round-trip time in milliseconds.
    Rtt,
    /// Queue in milliseconds.
    Queue,
    /// Loss in percent.
    Loss,
}

/// A moment in seconds since 1970, and what was measured then.
#[derive(Clone, Copy, Debug)]
struct Point(u64, Values);

impl Serialize for Point {
    /// Writes a list of six numbers, of which the last ones are null where nothing was measured.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values = self.1.map(|value| value.is_finite().then_some(f64::from(value)));
        (self.0, values[0], values[1], values[2], values[3], values[4]).serialize(serializer)
    }
}

/// The points of one resolution, and the one that is being made.
#[derive(Clone, Debug, Default)]
struct Points {
    done: VecDeque<Point>,
    /// Its beginning, in seconds since 1970.
    begun: u64,
    sums: [f64; VALUES],
    counts: [u32; VALUES],
}

impl Points {
    fn add(&mut self, now: u64, values: Values, (step, most): (u64, usize)) {
        let begun = now - now % step;
        if begun != self.begun {
            if self.begun > 0 {
                self.done.push_back(Point(self.begun, self.means()));
            }
            self.done.drain(..self.done.len().saturating_sub(most));
            (self.begun, self.sums, self.counts) = (begun, Default::default(), Default::default());
        }
        for (value, (sum, count)) in values.iter().zip(self.sums.iter_mut().zip(&mut self.counts)) {
            if value.is_finite() {
                *sum += f64::from(*value);
                *count += 1;
            }
        }
    }

    fn means(&self) -> Values {
        let mut means = [f32::NAN; VALUES];
        for (mean, (sum, &count)) in means.iter_mut().zip(self.sums.iter().zip(&self.counts)) {
            if count > 0 {
                *mean = (sum / f64::from(count)) as f32;
            }
        }
        means
    }
}

/// One path.
#[derive(Clone, Debug, Default)]
struct Series {
    resolutions: [Points; RESOLUTIONS.len()],
    /// The time at which it was seen last, in seconds since 1970.
    seen: u64,
}

/// The paths of a connection as a page draws them.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Drawn {
    /// Seconds from one point to the next.
    step: u64,
    paths: Vec<DrawnPath>,
}

impl Drawn {
    /// Returns one value of a path for each step of the last `columns` steps up to `now`, in seconds since 1970; `None` where nothing was measured.
    pub(crate) fn series(
        &self,
        path: &str,
        measure: Measure,
        columns: usize,
        now: u64,
    ) -> Vec<Option<f32>> {
        let mut series = vec![None; columns];
        let points = self.paths.iter().find(|it| it.name == path).map(|it| &*it.points);
        for Point(time, values) in points.unwrap_or_default() {
            let back = (now.saturating_sub(*time) / self.step) as usize;
            if *time <= now && back < columns {
                let value = values[measure as usize];
                series[columns - 1 - back] = value.is_finite().then_some(value);
            }
        }
        series
    }
}

#[derive(Debug, Serialize)]
struct DrawnPath {
    name: String,
    points: Vec<Point>,
}

/// The history of all paths, by the names of connection and path.
#[derive(Debug, Default)]
pub(crate) struct History(HashMap<(String, String), Series>);

impl History {
    /// Adds what is so at this moment, in seconds since 1970.
    pub(crate) fn add(&mut self, now: u64, snapshot: &Snapshot) {
        for connection in &snapshot.connections {
            for path in &connection.paths {
                let key = (connection.name.clone(), path.name.clone());
                if !self.0.contains_key(&key) && self.0.len() >= MOST && !self.make_room(now) {
                    continue;
                }
                let series = self.0.entry(key).or_default();
                series.seen = now;
                for (points, resolution) in series.resolutions.iter_mut().zip(RESOLUTIONS) {
                    points.add(now, values(path), resolution);
                }
            }
        }
    }

    /// Forgets the path that has been away longest. Returns false while all of them are there.
    fn make_room(&mut self, now: u64) -> bool {
        let oldest = self.0.iter().min_by_key(|(_, series)| series.seen);
        let away = oldest.filter(|(_, series)| series.seen + 60 < now);
        let Some(key) = away.map(|(key, _)| key.clone()) else { return false };
        self.0.remove(&key).is_some()
    }

    /// Returns the last `span` seconds of a connection, its paths by name.
    pub(crate) fn of(&self, connection: &str, span: u64, now: u64) -> Drawn {
        let fits = |(step, most): &(u64, usize)| step * *most as u64 >= span;
        let chosen = RESOLUTIONS.iter().position(fits).unwrap_or(RESOLUTIONS.len() - 1);
        let since = now.saturating_sub(span);
        let drawn = |((_, name), series): (&(String, String), &Series)| {
            let points = &series.resolutions[chosen];
            let current = Point(points.begun, points.means());
            let points = points.done.iter().copied().chain([current]);
            DrawnPath { name: name.clone(), points: points.filter(|it| it.0 >= since).collect() }
        };
        let of_connection = self.0.iter().filter(|((name, _), _)| name == connection);
        let mut paths: Vec<_> =
            of_connection.map(drawn).filter(|it| !it.points.is_empty()).collect();
        paths.sort_by(|one, other| one.name.cmp(&other.name));
        Drawn { step: RESOLUTIONS[chosen].0, paths }
    }
}

/// Returns what is kept of a path.
fn values(path: &Path) -> Values {
    let Measured { rtt_us, lost_per_million, queue_us, .. } = Measured::of(path);
    [
        path.sent.bits_per_second as f32,
        path.received.bits_per_second as f32,
        rtt_us.map_or(f32::NAN, |us| us as f32 / 1e3),
        queue_us.map_or(f32::NAN, |us| us as f32 / 1e3),
        lost_per_million.map_or(f32::NAN, |lost| lost as f32 / 1e4),
    ]
}

#[cfg(test)]
mod tests;
