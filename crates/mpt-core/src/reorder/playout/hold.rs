//! How long after its departure bulk is played out.
//!
//! Long enough for what the longest path in use brings, its jitter and the queue that its sender
//! tolerates included: then each packet takes the same time, and the inner flow sees a line without
//! jitter. The hold is set by what probes tell before a flow begins, since a rise while the flow is
//! in slow start would end that (RFC 9406 takes a rise of an eighth for a queue).

use std::time::Duration;

use crate::path::model::observed::delay::{Delays, WANDER_ABOVE, tolerated};
use crate::sequence::Sequence;

/// Differences up to this one are left alone: the least that RFC 9406 takes for a queue.
const UNNOTICED: f64 = 4_000.0;
/// Nearly all packets come within so many deviations after [`Delays::base`], which is a low quantile where delays jitter: 0.67 below the mean, and 3 above it.
const LATEST: f64 = 3.67;
/// Hardly any packet comes so many deviations before [`Delays::base`].
const LEAST: f64 = 2.0;
/// From the least of what wanders to the mean, in deviations.
const WANDERED: f64 = 2.5;
/// From the base to the mean, in deviations.
const MEAN: f64 = 0.67;
/// Packets of data from which on they say more of a path than its probes.
const ENOUGH: u32 = 64;
/// The hold grows and shrinks by so much of the time that passes.
const GROWTH: f64 = 0.01;
const SHRINKAGE: f64 = 0.03;
/// It begins to shrink so long after a flow began, in microseconds: a round-trip time that falls in slow start makes the
/// one before look like a queue as soon as it comes again.
const SETTLES: i64 = 3_000_000;
/// Differences of the hold up to this share of the longest path's threshold are chance.
const CHANCE: f64 = 0.25;
/// What probes spread over, in deviations.
const SPREAD: f64 = 5.0;

/// Whether packets are lost on the paths by chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Losses {
    /// None are.
    #[default]
    None,
    /// Too few packets were counted yet.
    Possible,
    /// Some are.
    Known,
}

/// What probes say of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probed {
    /// The least delay, less the receiver's reference: microseconds.
    pub(super) least: i64,
    /// What delays differ by.
    pub(super) spread: Duration,
    /// The round-trip time.
    pub(super) rtt: Duration,
}

/// One path: all times in microseconds, delays by both clocks.
#[derive(Debug)]
struct PathDelay {
    probed: Option<Probed>,
    data: Delays,
    samples: u32,
    /// The peer gives it bulk, or may soon.
    counts: bool,
}

/// What is known of one path's delay.
#[derive(Clone, Copy, Debug)]
struct Known {
    base: f64,
    sigma: f64,
    /// What [`Delays::wander`] says.
    wander: f64,
    threshold: f64,
}

impl Known {
    /// True if the delay jitters or wanders.
    fn varies(&self) -> bool {
        self.sigma > 0.0 || self.wander > 0.0
    }
}

/// The hold of a connection.
#[derive(Debug, Default)]
pub(super) struct Hold {
    paths: Vec<Option<PathDelay>>,
    present: Option<f64>,
    /// The same of what waits for the jitter of the shortest path only.
    shortest: Option<f64>,
    changed: i64,
    /// When it was set, nobody being there to notice.
    set: i64,
    /// In which intervals the peer tells when its packets left.
    interval: f64,
    /// What a repair of a lost packet takes, and whether any are lost.
    repair_time: f64,
    losses: Losses,
    /// The hold contains the time for repairs.
    for_repairs: bool,
}

impl Probed {
    /// The standard deviation of the delay, in microseconds; 0 where the spread may be chance.
    fn sigma(&self) -> f64 {
        let spread = self.spread.as_micros() as f64;
        if spread > UNNOTICED { spread / SPREAD } else { 0.0 }
    }
}

impl PathDelay {
    fn rtt(&self) -> f64 {
        self.probed.map_or(0.0, |probed| probed.rtt.as_micros() as f64)
    }

    fn known(&self) -> Option<Known> {
        if self.samples >= ENOUGH
            && let Some(base) = self.data.base()
        {
            let (sigma, wander) = (self.data.sigma(), self.data.wander());
            let threshold = self.data.threshold(self.rtt());
            // All data of a path that has carried little may have waited in a queue.
            let still = sigma == 0.0 && wander == 0.0;
            let probed = self.probed.filter(|_| still).map(|probed| probed.least as f64);
            let base = probed.map_or(base, |least| base.min(least));
            return Some(Known { base, sigma, wander, threshold });
        }
        let probed = self.probed?;
        let sigma = probed.sigma();
        // The least of some probes is further from the mean than the quantile of many packets.
        let base = probed.least as f64 + (SPREAD / 2.0 - MEAN) * sigma;
        Some(Known { base, sigma, wander: 0.0, threshold: tolerated(self.rtt(), sigma) })
    }
}

impl Hold {
    fn path(&mut self, slot: usize) -> &mut PathDelay {
        if self.paths.len() <= slot {
            self.paths.resize_with(slot + 1, || None);
        }
        self.paths[slot].get_or_insert_with(|| PathDelay {
            probed: None,
            data: Delays::new(),
            samples: 0,
            counts: true,
        })
    }

    /// What probes say of a path. Beside data its queue spreads them: what they spread over counts from
    /// before there was any.
    pub(super) fn set_probed(&mut self, slot: usize, probed: Probed) {
        let path = self.path(slot);
        let before = path.probed.filter(|_| path.samples > 0);
        let spread = before.map_or(probed.spread, |before| before.spread);
        let probed = Probed { spread, ..probed };
        path.data.set_prior(probed.sigma());
        path.probed = Some(probed);
    }

    /// What is lost is waited for so much longer than the hold, in microseconds.
    pub(super) fn repair_time_beyond(&self) -> i64 {
        if self.for_repairs { 0 } else { self.repair_time as i64 }
    }

    /// True where what is lost is sent again, and something may be.
    pub(super) fn expects_repairs(&self) -> bool {
        self.losses != Losses::None && self.repair_time > 0.0
    }

    /// What is lost is waited for so much longer, in microseconds.
    pub(super) const fn set_repair_time(&mut self, time: f64, losses: Losses) {
        (self.repair_time, self.losses) = (time, losses);
    }

    /// Whether the peer gives the path bulk, or may soon.
    pub(super) fn set_counts(&mut self, slot: usize, counts: bool) {
        if let Some(Some(path)) = self.paths.get_mut(slot) {
            path.counts = counts;
        }
    }

    /// The path is gone.
    pub(super) fn remove(&mut self, slot: usize) {
        if let Some(path) = self.paths.get_mut(slot) {
            *path = None;
        }
    }

    /// The packet of this number, which left at `sent`, came at `arrival` on this path.
    pub(super) fn record(&mut self, slot: usize, number: Sequence, sent: i64, arrival: i64) {
        let path = self.path(slot);
        path.data.record(number, sent, arrival - sent);
        path.samples = path.samples.saturating_add(1);
    }

    /// Gives back the memory of what was measured of packets.
    pub(super) fn rest(&mut self) {
        self.paths.iter_mut().flatten().for_each(|path| path.data.rest());
    }

    /// In which intervals the peer tells when its packets left.
    pub(super) fn set_interval(&mut self, interval: Duration) {
        self.interval = interval.as_micros() as f64;
    }

    /// Follows what is known by now: slowly, unless `idle`.
    pub(super) fn update(&mut self, now: i64, idle: bool) {
        if idle {
            (self.present, self.shortest) = (None, None);
            self.set = now;
        }
        for path in self.paths.iter_mut().flatten() {
            let rtt = path.rtt();
            path.data.update(now, now, rtt);
        }
        let passed = (now - self.changed).max(0) as f64;
        self.changed = now;
        self.for_repairs = self.is_for_repairs(idle);
        let shrinkage = if now - self.set < SETTLES { 0.0 } else { SHRINKAGE };
        let steps = (GROWTH * passed, shrinkage * passed);
        let wanted = self.wanted();
        self.present = wanted.map(|(wanted, chance)| follow(self.present, wanted, chance, steps));
        let shortest = self.shortest_wanted();
        self.shortest =
            shortest.map(|(wanted, chance)| follow(self.shortest, wanted, chance, steps));
    }

    /// What is known of the paths that the peer gives bulk.
    fn counting(&self) -> impl Iterator<Item = Known> {
        let counting = self.paths.iter().flatten().filter(|path| path.counts);
        counting.filter_map(PathDelay::known)
    }

    /// True if delays on a path that the peer gives bulk jitter or wander.
    pub(super) fn jitters(&self) -> bool {
        self.counting().any(|known| known.varies())
    }

    /// Whether the hold contains the time for repairs. That begins when nobody notices: a flow that began without it
    /// has a window that fits the shorter time, and waits for what is repaired when it comes to that.
    fn is_for_repairs(&self, idle: bool) -> bool {
        let bases = || self.counting().map(|known| known.base);
        let (least, most) =
            (bases().fold(f64::INFINITY, f64::min), bases().fold(f64::MIN, f64::max));
        let wanted = match self.losses {
            Losses::None => false,
            // Cables of different length lose next to nothing, and their hold is long as it is.
            Losses::Possible => most - least <= UNNOTICED || self.jitters(),
            Losses::Known => true,
        };
        wanted && (idle || self.for_repairs)
    }

    /// The hold that the paths need, and what of it may be chance. `None`: they are equally long.
    fn wanted(&self) -> Option<(f64, f64)> {
        let (mut least, mut most, mut latest) =
            (f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY);
        let mut chance = 0.0;
        for Known { base, sigma, wander, threshold } in self.counting() {
            (least, most) = (least.min(base), most.max(base));
            // The least of what wanders is as far below the mean as the threshold reaches above it.
            let last = base + LATEST * sigma + WANDERED * wander + threshold;
            if last > latest {
                (latest, chance) = (last, CHANCE * threshold);
            }
        }
        let (jitters, differ) = (self.jitters(), most - least > UNNOTICED);
        let repairs = latest.is_finite() && self.for_repairs;
        if !jitters && !differ && !repairs {
            return None;
        }
        let repair_time = if repairs { self.repair_time } else { 0.0 };
        // Until then the peer has told when the packet left.
        let told = self.shortest_wanted().filter(|_| jitters).map_or(latest, |(told, _)| told);
        Some(((latest + repair_time).max(told), chance))
    }

    /// The hold; `None` where nothing is held.
    pub(super) fn present(&self) -> Option<i64> {
        self.present.map(|hold| hold as i64)
    }

    /// What the shortest path needs, for what waits for its own jitter only.
    pub(super) fn shortest(&self) -> Option<i64> {
        self.shortest.map(|hold| hold as i64)
    }

    fn shortest_wanted(&self) -> Option<(f64, f64)> {
        let shortest = self.counting().min_by(|a, b| a.base.total_cmp(&b.base))?;
        // When a packet left is known an interval later. Where what tells it is late, the packet is, too.
        let varies = shortest.varies();
        let told = if varies { self.interval } else { 0.0 };
        let chance = if varies { CHANCE * shortest.threshold } else { 0.0 };
        let wandered = (WANDERED + WANDER_ABOVE) * shortest.wander;
        Some((shortest.base + LATEST * shortest.sigma + wandered + told, chance))
    }

    /// The least delay that packets of this path have.
    pub(super) fn least(&self, slot: usize) -> Option<i64> {
        let known = self.paths.get(slot)?.as_ref()?.known()?;
        Some((known.base - LEAST * known.sigma) as i64)
    }
}

/// What follows from what was and what is wanted: it grows and shrinks by these steps at the most. What differs by less
/// than `chance` stays.
fn follow(present: Option<f64>, wanted: f64, chance: f64, (up, down): (f64, f64)) -> f64 {
    let Some(present) = present else { return wanted };
    if wanted > present + chance {
        (present + up).min(wanted)
    } else if wanted < present - chance {
        (present - down).max(wanted)
    } else {
        present
    }
}
