//! The reasons why the share of a path in its connection's traffic has changed.

use std::collections::HashMap;

use mpt_api::snapshot::{Connection, Path, PathState, Snapshot};
use mpt_text::quantity;

/// Number of answers of the daemon over which shares are averaged.
const WINDOW: u32 = 10;
/// Least change of the share of a path that is reported, in percentage points.
const POINTS: f64 = 15.0;
/// The least rate, in bit/s, at which shares say something: below it they are chance.
const ENOUGH: f64 = 1e6;
/// The most connections that are followed.
const MOST: usize = 1_000;

/// The shares of all connections.
#[derive(Debug, Default)]
pub(crate) struct Shares(HashMap<String, Followed>);

/// One connection.
#[derive(Debug, Default)]
struct Followed {
    sums: HashMap<String, f64>,
    count: u32,
    /// The paths of the window before by name, if enough was sent in it.
    before: Option<HashMap<String, Seen>>,
}

/// A path in one window.
#[derive(Debug)]
struct Seen {
    /// Its mean share in percent.
    share: f64,
    /// The path as it was at the end.
    path: Path,
}

impl Shares {
    /// Takes in an answer. Returns a sentence for each path whose share has changed.
    pub(crate) fn add(&mut self, snapshot: &Snapshot) -> Vec<String> {
        let mut told = Vec::new();
        self.0.retain(|name, _| snapshot.connections.iter().any(|it| it.name == *name));
        for connection in &snapshot.connections {
            if connection.paths.len() < 2 {
                continue;
            }
            if !self.0.contains_key(&connection.name) && self.0.len() >= MOST {
                continue;
            }
            let followed = self.0.entry(connection.name.clone()).or_default();
            told.extend(followed.add(connection));
        }
        told
    }
}

impl Followed {
    fn add(&mut self, connection: &Connection) -> Vec<String> {
        for path in &connection.paths {
            let rate = path.sent.bits_per_second as f64 / f64::from(WINDOW);
            *self.sums.entry(path.name.clone()).or_default() += rate;
        }
        self.count += 1;
        if self.count < WINDOW {
            return Vec::new();
        }
        self.count = 0;
        let rates = std::mem::take(&mut self.sums);
        let total: f64 = rates.values().sum();
        if total < ENOUGH {
            self.before = None;
            return Vec::new();
        }
        let now: Vec<Seen> = (connection.paths.iter())
            .map(|path| {
                let rate = rates.get(&path.name).copied().unwrap_or_default();
                Seen { share: rate / total * 100.0, path: path.clone() }
            })
            .collect();
        let before = self.before.take().unwrap_or_default();
        let told = changes(&connection.name, &before, &now);
        self.before = Some(now.into_iter().map(|it| (it.path.name.clone(), it)).collect());
        told
    }
}

/// Returns a sentence for each path of `connection` whose share differs between both windows.
fn changes(connection: &str, before: &HashMap<String, Seen>, now: &[Seen]) -> Vec<String> {
    let pairs: Vec<_> =
        now.iter().filter_map(|new| Some((before.get(&new.path.name)?, new))).collect();
    let changed =
        pairs.iter().enumerate().filter(|(_, (old, new))| (new.share - old.share).abs() >= POINTS);
    let sentence = |(at, &(old, new)): (usize, &(&Seen, &Seen))| {
        let (name, from, to) = (&new.path.name, old.share, new.share);
        let reason = reason(&pairs, at, to > from);
        format!("{connection} {name}: share of what is sent {from:.0} % -> {to:.0} %: {reason}")
    };
    changed.map(sentence).collect()
}

/// Returns what differs between both windows and explains why the share of one of the paths, given by its place, has
/// `grown` or shrunk. A change of the path itself comes first.
fn reason(pairs: &[(&Seen, &Seen)], at: usize, grown: bool) -> String {
    // A change of another path explains this one only if that path got less where this one got more.
    let explanation = |place: usize, more: bool| {
        let (old, new) = pairs.get(place)?;
        difference(&old.path, &new.path, more)
    };
    let mut others = (0..pairs.len()).filter(|&place| place != at);
    explanation(at, grown)
        .or_else(|| others.find_map(|place| explanation(place, !grown)))
        .unwrap_or_else(|| "the paths are as before, so it follows what there is to send".into())
}

/// Returns what has changed about a path that has it get more, or less.
fn difference(old: &Path, new: &Path, more: bool) -> Option<String> {
    let name = &new.name;
    let is_up = |path: &Path| path.state == PathState::Up;
    if is_up(old) != is_up(new) && is_up(new) == more {
        return Some(match new.down {
            Some(reason) if !is_up(new) => format!("{name} went down ({reason})"),
            _ if is_up(new) => format!("{name} came up"),
            _ => format!("{name} went down"),
        });
    }
    if old.last_resort != new.last_resort && new.last_resort != more {
        return Some(match new.last_resort {
            true => format!("{name} is used only while no other path works now"),
            false => format!("{name} is no last resort any more"),
        });
    }
    if old.tier != new.tier && (new.tier < old.tier) == more {
        return Some(format!("the tier of {name} is {} now, not {}", new.tier, old.tier));
    }
    if old.weight != new.weight && (new.weight > old.weight) == more {
        return Some(format!("the weight of {name} is {} now, not {}", new.weight, old.weight));
    }
    let (old, new) = (old.estimate?, new.estimate?);
    let (rate, lost) = (|it: u64| quantity::rate(it), |it: u32| f64::from(it) / 1e4);
    let much = |from: u64, to: u64| from.abs_diff(to) * 5 >= from.max(to);
    if much(old.rate, new.rate) && (new.rate > old.rate) == more {
        let (from, to) = (rate(old.rate), rate(new.rate));
        return Some(format!("{name} is held to carry {to} now, not {from}"));
    }
    if old.lost_per_million.abs_diff(new.lost_per_million) >= 10_000
        && (new.lost_per_million < old.lost_per_million) == more
    {
        let (from, to) = (lost(old.lost_per_million), lost(new.lost_per_million));
        return Some(format!("{name} loses {to:.1} % of its packets now, not {from:.1} %"));
    }
    if old.queue_us.abs_diff(new.queue_us) >= 20_000 && (new.queue_us < old.queue_us) == more {
        let (from, to) =
            (quantity::microseconds(old.queue_us), quantity::microseconds(new.queue_us));
        return Some(format!("packets wait {to} in the queue of {name} now, not {from}"));
    }
    None
}

#[cfg(test)]
mod tests {
    use mpt_api::Estimate;
    use mpt_api::snapshot::DownReason;

    use super::*;
    use crate::example;

    /// The office with two paths that send at these rates, in Mbit/s.
    fn office(dsl: u64, lte: u64) -> Snapshot {
        let mut snapshot = example::snapshot();
        snapshot.connections.truncate(1);
        let estimate = Estimate {
            rate: 50_000_000,
            bottleneck_seen: true,
            delivered: 0,
            queue_us: 1_000,
            jitter_us: 0,
            rtt_us: 10_000,
            lost_per_million: 0,
            cuts: 0,
            idle_ms: Some(40),
        };
        for (path, rate) in snapshot.connections[0].paths.iter_mut().zip([dsl, lte]) {
            (path.state, path.down) = (PathState::Up, None);
            path.sent.bits_per_second = rate * 1_000_000;
            path.estimate = Some(estimate);
        }
        snapshot
    }

    /// Returns what is told of ten answers like each of these.
    fn told(snapshots: &[Snapshot]) -> Vec<String> {
        let mut shares = Shares::default();
        let answers = snapshots.iter().flat_map(|it| std::iter::repeat_n(it, WINDOW as usize));
        answers.flat_map(|it| shares.add(it)).collect()
    }

    #[test]
    fn a_path_that_dies_explains_the_other() {
        let mut dead = office(60, 0);
        let lte = &mut dead.connections[0].paths[1];
        (lte.state, lte.down) = (PathState::Down, Some(DownReason::Dead));
        assert_eq!(
            told(&[office(50, 50), dead]),
            [
                "office dsl: share of what is sent 50 % -> 100 %: lte went down (dead)",
                "office lte: share of what is sent 50 % -> 0 %: lte went down (dead)"
            ]
        );
    }

    #[test]
    fn an_estimate_that_fell_is_said_with_both_rates() {
        let mut slow = office(50, 20);
        slow.connections[0].paths[1].estimate.as_mut().unwrap().rate = 20_000_000;
        let told = told(&[office(50, 50), slow]);
        let because = "lte is held to carry 20.0 Mbit/s now, not 50.0 Mbit/s";
        assert_eq!(told.len(), 2);
        assert!(told.iter().all(|it| it.ends_with(because)), "{told:?}");
    }

    #[test]
    fn what_is_chance_is_not_told() {
        assert_eq!(told(&[office(50, 50), office(55, 45), office(45, 55)]), [""; 0]);
        let mut idle = office(50, 50);
        for path in &mut idle.connections[0].paths {
            path.sent.bits_per_second /= 1000;
        }
        assert_eq!(told(&[office(50, 50), idle.clone(), office(90, 10)]), [""; 0], "after a pause");
        let told = told(&[office(50, 50), office(90, 10)]);
        assert!(told[0].ends_with("so it follows what there is to send"), "{told:?}");
    }

    #[test]
    fn a_cap_and_a_weight_are_reasons() {
        let mut capped = office(60, 0);
        capped.connections[0].paths[1].last_resort = true;
        let of_cap = told(&[office(50, 50), capped]);
        assert!(
            of_cap[1].ends_with("lte is used only while no other path works now"),
            "{of_cap:?}"
        );
        let mut heavier = office(80, 20);
        heavier.connections[0].paths[0].weight = 40;
        let of_weight = told(&[office(50, 50), heavier]);
        assert!(of_weight[0].ends_with("the weight of dsl is 40 now, not 10"), "{of_weight:?}");
    }
}
