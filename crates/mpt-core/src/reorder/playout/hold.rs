//! The hold: the time after its departure at which bulk is played out.
//!
//! The hold covers the longest path in use, with its jitter and the queue that its sender
//! tolerates. Then each packet takes the same time, and the inner flow sees a link without jitter.
//! Probes set the hold before a flow begins, since a rise during slow start would end slow start
//! (RFC 9406 takes a rise of an eighth for a queue).

use std::time::Duration;

use crate::path::model::observed::delay::{
    BELOW_MEAN, Delays, LATEST, USUAL, WANDER_ABOVE, WANDERED, latest_delay, tolerated,
};
use crate::sequence::Sequence;

/// The difference of delays up to which nothing is held, in microseconds: the least that RFC 9406
/// takes for a queue.
const UNNOTICED: f64 = 4_000.0;
/// The most of a packet's wait in the sender's queue that is taken off its hold, in microseconds,
/// where numbers are missing before it. Every hold is longer by as much. A flow in slow start sends
/// in bursts, and HyStart takes a wait of 4 to 16 ms of the later packets for a full path.
const HIDDEN: f64 = 20_000.0;
/// The share of a round-trip time that is hidden where that is less: TCP sends two packets for each
/// that has come, so until the paths are full no more than half of a window waits.
const HIDDEN_SHARE: f64 = 0.5;
/// Hardly any packet arrives this many deviations before [`Delays::base`].
const LEAST: f64 = 2.0;
/// The number of data packets from which on they are a better estimate than probes.
const ENOUGH: u32 = 64;
/// The growth of the hold per time that passes.
const GROWTH: f64 = 0.01;
/// The shrinkage of the hold per time that passes.
const SHRINKAGE: f64 = 0.03;
/// The shrinkage of the hold per time that passes after the peer has stopped to use a path, from
/// [`GONE`] to [`SHRUNK`]. No flow will see the longer time again soon.
const SHRINKAGE_WITHOUT: f64 = 0.2;
/// The time after which a path counts as left, in microseconds. A path that loses packets may be back
/// earlier.
const GONE: i64 = 550_000;
/// The time after which the hold has shrunk to that of the other paths, in microseconds.
const SHRUNK: i64 = 4_000_000;
/// Time after the beginning of a flow for which the hold does not shrink, in microseconds, and that of bulk does not grow where
/// it contains the time for repairs. A round-trip time that falls in slow start makes the one before look like a queue when it
/// occurs again. One that grows by 16 ms ends slow start, and what the first packets of a long path say of its jitter is
/// uncertain by more.
const SETTLES: i64 = 3_000_000;
/// Differences of the hold up to this share of the longest path's threshold count as chance.
const CHANCE: f64 = 0.25;
/// The spread of probes, in deviations.
const SPREAD: f64 = 5.0;

/// The losses of the paths: whether packets are lost at random.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Losses {
    /// The paths lose none.
    #[default]
    None,
    /// Too few packets have been counted.
    Possible,
    /// The paths lose some.
    Known,
}

/// The measurements of a path by probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probed {
    /// The least delay, less the receiver's reference, in microseconds.
    pub(super) least: i64,
    /// The spread of the delays while the path carries no data, since the queue of data spreads
    /// probes as well.
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
    /// True if the peer sends bulk over the path, or may soon.
    counts: bool,
}

/// The estimates of one path's delay.
#[derive(Clone, Copy, Debug)]
struct Known {
    base: f64,
    sigma: f64,
    /// The value of [`Delays::wander`].
    wander: f64,
    threshold: f64,
}

impl Known {
    /// Returns true if the delay jitters or wanders.
    fn varies(&self) -> bool {
        self.sigma > 0.0 || self.wander > 0.0
    }
}

/// The last change of the paths over which the peer sends bulk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Switched {
    /// There was none, or the hold has followed it.
    #[default]
    Not,
    /// The peer stopped to use a path at this time.
    Left { since: i64 },
    /// The peer uses a path again, and the hold is that without the path.
    Back,
}

/// The hold of a connection.
#[derive(Debug, Default)]
pub(super) struct Hold {
    paths: Vec<Option<PathDelay>>,
    present: Option<f64>,
    /// The hold of packets that wait for the jitter of the shortest path only.
    shortest: Option<f64>,
    changed: i64,
    /// The time at which the hold was last set while idle.
    set: i64,
    /// Sets the interval at which the peer sends send times.
    interval: f64,
    /// The time that a repair takes, and whether packets are lost.
    repair_time: f64,
    losses: Losses,
    /// True if the hold contains the time for repairs.
    for_repairs: bool,
    /// The last change of the paths that count.
    switched: Switched,
    /// The most of a packet's wait in the sender's queue that is taken off its hold.
    hidden: f64,
}

impl Probed {
    /// Returns the standard deviation of the delay, in microseconds, or 0 where the spread may be
    /// chance.
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
        let base = probed.least as f64 + (SPREAD / 2.0 - BELOW_MEAN) * sigma;
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

    /// Takes the measurements of a path by probes.
    pub(super) fn set_probed(&mut self, slot: usize, probed: Probed) {
        // An estimate that changes in slow start would end it.
        let is_idle = self.set == self.changed;
        let path = self.path(slot);
        path.data.set_prior(probed.sigma());
        if is_idle {
            path.data.raise_prior(probed.sigma());
        }
        path.probed = Some(probed);
    }

    /// Returns how much longer than the hold a lost number is waited for, in microseconds.
    pub(super) fn repair_time_beyond(&self) -> i64 {
        if self.for_repairs { 0 } else { self.repair_time as i64 }
    }

    /// Returns true if lost packets are sent again and some may be lost.
    pub(super) fn expects_repairs(&self) -> bool {
        self.losses != Losses::None && self.repair_time > 0.0
    }

    /// Sets how much longer a lost number is waited for, in microseconds.
    pub(super) const fn set_repair_time(&mut self, time: f64, losses: Losses) {
        (self.repair_time, self.losses) = (time, losses);
    }

    /// Sets whether the peer sends bulk over the path, or may soon.
    pub(super) fn set_counts(&mut self, slot: usize, counts: bool) {
        let Some(Some(path)) = self.paths.get_mut(slot) else { return };
        if path.counts == counts {
            return;
        }
        path.counts = counts;
        self.switched = match self.switched {
            _ if !counts => Switched::Left { since: self.changed },
            Switched::Left { since } if self.changed - since > GONE => Switched::Back,
            _ => Switched::Not,
        };
    }

    /// Removes a path.
    pub(super) fn remove(&mut self, slot: usize) {
        if let Some(path) = self.paths.get_mut(slot) {
            *path = None;
        }
    }

    /// Takes the packet of this number, which left at `sent` and arrived at `arrival` on this path.
    pub(super) fn record(&mut self, slot: usize, number: Sequence, sent: i64, arrival: i64) {
        let path = self.path(slot);
        path.data.record(number, sent, arrival - sent);
        path.samples = path.samples.saturating_add(1);
    }

    /// Gives back the memory of measured packets.
    pub(super) fn rest(&mut self) {
        self.paths.iter_mut().flatten().for_each(|path| path.data.rest());
    }

    /// Sets the interval at which the peer sends send times.
    pub(super) fn set_interval(&mut self, interval: Duration) {
        self.interval = interval.as_micros() as f64;
    }

    /// Follows the present estimates: slowly, or at once while `idle`.
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
        let wanted = self.wanted();
        let up = GROWTH * passed;
        let settles = now - self.set < SETTLES;
        let steps = match self.switched {
            // The packets of the path come so much later from now on, whatever the hold.
            Switched::Back => (f64::INFINITY, 0.0),
            Switched::Left { since } if (GONE..SHRUNK).contains(&(now - since)) => {
                (up, SHRINKAGE_WITHOUT * passed)
            }
            _ if settles => (up, 0.0),
            _ => (up, SHRINKAGE * passed),
        };
        let held = self.present;
        let stays = settles && self.for_repairs && self.switched == Switched::Not;
        let of_bulk = if stays { (0.0, 0.0) } else { steps };
        self.present = match wanted {
            Some((wanted, chance)) => Some(follow(self.present, wanted, chance, of_bulk)),
            None => self.fading(steps.1),
        };
        if idle || held.is_none() {
            self.hidden = self.round_trip().map_or(0.0, |it| (HIDDEN_SHARE * it).min(HIDDEN));
        }
        let shortest = self.shortest_wanted();
        self.shortest =
            shortest.map(|(wanted, chance)| follow(self.shortest, wanted, chance, steps));
        if idle || self.switched == Switched::Back {
            self.switched = Switched::Not;
        }
    }

    /// Returns the estimates of the paths over which the peer sends bulk.
    fn counting(&self) -> impl Iterator<Item = Known> {
        let counting = self.paths.iter().flatten().filter(|path| path.counts);
        counting.filter_map(PathDelay::known)
    }

    /// Returns true if the delays of a path over which the peer sends bulk jitter or wander.
    pub(super) fn jitters(&self) -> bool {
        self.counting().any(|known| known.varies())
    }

    /// Returns whether the hold contains the time for repairs. That begins only while idle. A flow
    /// that began without it has a window that fits the shorter time, and waits for repairs when
    /// packets are lost.
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

    /// Returns the hold that the paths need, and how much of it may be chance. Returns `None` where
    /// they are equally long.
    fn wanted(&self) -> Option<(f64, f64)> {
        let (mut least, mut most, mut latest) =
            (f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY);
        let mut chance = 0.0;
        for Known { base, sigma, wander, threshold } in self.counting() {
            (least, most) = (least.min(base), most.max(base));
            // The least of delays that wander is as far below the mean as the threshold is above
            // it.
            let last = latest_delay(base, sigma, wander, threshold);
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
        // By then the peer has sent the send time of the packet.
        let told = self.shortest_wanted().filter(|_| jitters).map_or(latest, |(told, _)| told);
        Some(((latest + repair_time).max(told), chance))
    }

    /// Returns the hold on its way to none at all, shorter by `down`; `None` once it is as short as
    /// the remaining paths.
    fn fading(&self, down: f64) -> Option<f64> {
        let latest = self.counting().map(|known| known.base + known.threshold);
        let latest = latest.fold(f64::NEG_INFINITY, f64::max);
        let shorter = self.present? - down;
        (latest.is_finite() && shorter > latest).then_some(shorter)
    }

    /// Returns the round-trip time of what is held, without what is hidden of its wait.
    fn round_trip(&self) -> Option<f64> {
        let paths = self.paths.iter().flatten().filter(|path| path.counts);
        let known = paths.filter_map(|path| Some((path.known()?.base, path.rtt())));
        let (base, rtt) = known.min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(self.present? - base + rtt)
    }

    /// Returns the most of a packet's wait in the sender's queue that is taken off its hold, in
    /// microseconds.
    pub(super) fn hidden(&self) -> i64 {
        self.hidden as i64
    }

    /// Returns the hold, or `None` where nothing is held.
    pub(super) fn present(&self) -> Option<i64> {
        self.present.map(|hold| hold as i64)
    }

    /// Returns the hold of packets that wait for the jitter of the shortest path only.
    pub(super) fn shortest(&self) -> Option<i64> {
        self.shortest.map(|hold| hold as i64)
    }

    fn shortest_wanted(&self) -> Option<(f64, f64)> {
        // The peer sends acknowledgements over the path on which most packets arrive first.
        let usual = |known: &Known| known.base + USUAL * known.sigma;
        let shortest = self.counting().min_by(|a, b| usual(a).total_cmp(&usual(b)))?;
        // The send time of a packet is known one interval later. If the message with it is late,
        // the packet is late as well.
        let varies = shortest.varies();
        let told = if varies { self.interval } else { 0.0 };
        let chance = if varies { CHANCE * shortest.threshold } else { 0.0 };
        let wandered = (WANDERED + WANDER_ABOVE) * shortest.wander;
        Some((shortest.base + LATEST * shortest.sigma + wandered + told, chance))
    }

    /// Returns the least delay of packets of this path.
    pub(super) fn least(&self, slot: usize) -> Option<i64> {
        let known = self.paths.get(slot)?.as_ref()?.known()?;
        Some((known.base - LEAST * known.sigma) as i64)
    }
}

/// Returns the value that follows `present` on its way to `wanted`. It grows and shrinks by at most
/// these steps, and stays where the difference is below `chance`.
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

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: i64 = 10_000;

    /// The hold of a flow over paths of 10 and 60 ms, which began at 0. The shorter one jitters.
    struct Flow {
        hold: Hold,
        now: i64,
    }

    impl Flow {
        fn new() -> Self {
            Self::over([(0, 10, 10), (1, 60, 0)])
        }

        /// A flow over these paths: number, delay and spread in milliseconds.
        fn over(paths: [(usize, u64, u64); 2]) -> Self {
            let mut hold = Hold::default();
            for (slot, millis, spread) in paths {
                let [spread, rtt] = [spread, 2 * millis].map(Duration::from_millis);
                let least = 1_000 * millis.cast_signed();
                hold.set_probed(slot, Probed { least, spread, rtt });
            }
            hold.update(0, true);
            Self { hold, now: 0 }
        }

        /// Passes this time and returns the hold, in milliseconds; `None` where nothing is held.
        fn after(&mut self, millis: i64) -> Option<i64> {
            let until = self.now + 1_000 * millis;
            while self.now < until {
                self.now += STEP;
                self.hold.update(self.now, false);
            }
            self.hold.present().map(|hold| hold / 1_000)
        }
    }

    #[test]
    fn a_hold_for_repairs_stays_for_the_first_three_seconds_of_a_flow() {
        let after = |losses, millis: u64| {
            let mut flow = Flow::new();
            flow.hold.set_repair_time(100_000.0, losses);
            flow.hold.update(0, true);
            let set = flow.after(10).unwrap();
            let [spread, rtt] = [0, 2 * millis].map(Duration::from_millis);
            let least = 1_000 * millis.cast_signed();
            flow.hold.set_probed(1, Probed { least, spread, rtt });
            [2_900, 5_000].map(|time| flow.after(time).unwrap() - set)
        };
        // The path of 60 ms has 90 or 30.
        assert_eq!(after(Losses::Known, 90), [0, 31]);
        assert_eq!(after(Losses::None, 90), [29, 31]);
        let [settling, later] = after(Losses::None, 30);
        assert!(settling == 0 && later < 0, "{later} ms");
    }

    #[test]
    fn packets_that_come_one_by_one_show_less_of_the_jitter_than_probes() {
        let hold_after = |packets: u32| {
            let mut hold = Hold::default();
            for number in 0..packets {
                let sent = 100_000 * i64::from(number);
                let delay = 10_000 + 3_000 * (i64::from(number) % 7);
                hold.record(0, Sequence(number), sent, sent + delay);
                hold.update(sent + delay, true);
            }
            let [spread, rtt] = [30, 20].map(Duration::from_millis);
            hold.set_probed(0, Probed { least: 10_000, spread, rtt });
            hold.update(100_000 * i64::from(packets), true);
            hold.present().map(|hold| hold / 1_000)
        };
        // A mean of 19 ms, three deviations of 6, and 10 ms for a queue.
        for packets in [0, 100] {
            let hold = hold_after(packets);
            assert!(hold.is_some_and(|hold| (42..58).contains(&hold)), "{packets}: {hold:?} ms");
        }
    }

    #[test]
    fn a_path_that_is_left_lengthens_the_hold_for_a_second_at_most() {
        let mut flow = Flow::new();
        let both = flow.after(1_000);
        flow.hold.set_counts(1, false);
        assert_eq!(flow.after(500), both);
        let alone = flow.after(500);
        assert!(alone < Some(40), "{alone:?} ms");
    }

    #[test]
    fn the_hold_ends_little_by_little_where_only_a_steady_path_is_left() {
        let mut flow = Flow::over([(0, 10, 0), (1, 60, 0)]);
        let both = flow.after(1_000);
        flow.hold.set_counts(1, false);
        assert_eq!(flow.after(500), both);
        assert!(flow.after(100).is_some_and(|alone| Some(alone) < both));
        assert_eq!(flow.after(400), None);
    }

    #[test]
    fn a_path_that_comes_back_after_that_lengthens_the_hold_at_once() {
        let mut flow = Flow::new();
        let both = flow.after(1_000);
        flow.hold.set_counts(1, false);
        assert!(flow.after(1_000) < both);
        flow.hold.set_counts(1, true);
        assert_eq!(flow.after(10), both);
    }

    #[test]
    fn a_path_that_is_away_for_a_moment_changes_nothing() {
        let mut flow = Flow::new();
        let both = flow.after(1_000);
        for _ in 0..3 {
            flow.hold.set_counts(1, false);
            assert_eq!(flow.after(400), both);
            flow.hold.set_counts(1, true);
            assert_eq!(flow.after(100), both);
        }
    }
}
