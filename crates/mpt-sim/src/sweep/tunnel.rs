//! Plans of the tunnel in virtual time: two paths and one flow.

use std::ops::RangeInclusive;
use std::time::Duration;

use mpt_core::reorder;
use mpt_link::{Loss, Probability};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::tunnel::{Case, Path, Profile};

use super::Kind;
use super::check::{Fault, Pair, combine, each, list, not_empty, one, pairs, read};

/// A plan of the tunnel. Every combination of the values of its keys is a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TunnelPlan {
    #[serde(rename = "kind")]
    _kind: Kind,
    profiles: Spanned<Vec<Profile>>,
    /// Rates of both paths, in Mbit/s. All pairs are in the order of the paths.
    #[serde(rename = "rates-mbit")]
    rates: Spanned<Vec<Pair<u16>>>,
    #[serde(rename = "delays-ms")]
    delays: Spanned<Vec<Pair<u64>>>,
    seeds: Spanned<u64>,
    /// Standard deviations of the delays, in ms.
    #[serde(default, rename = "jitters-ms")]
    jitters: Option<Spanned<Vec<Pair<f64>>>>,
    #[serde(default, rename = "losses-percent")]
    losses: Option<Spanned<Vec<f64>>>,
    /// Longest waits for the transmitter, in ms.
    #[serde(default, rename = "queues-ms")]
    queues: Option<Spanned<Vec<u64>>>,
    #[serde(default)]
    weights: Option<Spanned<Vec<Pair<u16>>>>,
    /// Receive windows in packets.
    #[serde(default)]
    windows: Option<Spanned<Vec<u16>>>,
    #[serde(default, rename = "max-delays-ms")]
    max_delays: Option<Spanned<Vec<u64>>>,
    #[serde(default)]
    early_release: Option<Spanned<Vec<bool>>>,
    #[serde(default)]
    late: Option<Spanned<Vec<Late>>>,
    /// Simulated time of a run, in seconds.
    #[serde(default)]
    seconds: Option<Spanned<u64>>,
}

/// The treatment of late packets, by its name in the daemon's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Late {
    Deliver,
    Drop,
}

/// The values that make a case; results are found by them. `None` is the profile's own value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunnelKey {
    profile: Profile,
    rates_mbit: [u16; 2],
    delays_ms: [u64; 2],
    jitters_ms: [f64; 2],
    loss_percent: f64,
    queue_ms: u64,
    /// Weights of the paths; `None` for the ratio of the rates.
    weights: Option<[u16; 2]>,
    window: Option<u16>,
    max_delay_ms: Option<u64>,
    early_release: Option<bool>,
    late: Option<Late>,
    seconds: u64,
    seed: u64,
}

/// Ranges of values: they are bounded to an hour of simulated traffic, and to links that exist.
const SEEDS: RangeInclusive<u64> = 1..=10_000;
const SECONDS: RangeInclusive<u64> = 4..=3600;
const MILLISECONDS: RangeInclusive<u64> = 0..=60_000;
const JITTER: RangeInclusive<f64> = 0.0..=10_000.0;
const MEGABITS: RangeInclusive<u16> = 1..=u16::MAX;
const WEIGHTS: RangeInclusive<u16> = 1..=u16::MAX;
const LOSS: RangeInclusive<f64> = 0.0..=90.0;

impl TunnelPlan {
    /// Reads a plan.
    ///
    /// # Errors
    ///
    /// Returns the first fault: an unknown key, an empty list, or an impossible value.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let plan: Self = read(text)?;
        not_empty(text, "profiles", Some(&plan.profiles))?;
        pairs(text, "rates-mbit", Some(&plan.rates), &MEGABITS)?;
        pairs(text, "delays-ms", Some(&plan.delays), &MILLISECONDS)?;
        pairs(text, "jitters-ms", plan.jitters.as_ref(), &JITTER)?;
        pairs(text, "weights", plan.weights.as_ref(), &WEIGHTS)?;
        each(text, "losses-percent", plan.losses.as_ref(), &LOSS)?;
        each(text, "queues-ms", plan.queues.as_ref(), &MILLISECONDS)?;
        each(text, "max-delays-ms", plan.max_delays.as_ref(), &MILLISECONDS)?;
        not_empty(text, "windows", plan.windows.as_ref())?;
        not_empty(text, "early-release", plan.early_release.as_ref())?;
        not_empty(text, "late", plan.late.as_ref())?;
        one(text, "seeds", Some(&plan.seeds), &SEEDS)?;
        one(text, "seconds", plan.seconds.as_ref(), &SECONDS)?;
        Ok(plan)
    }

    /// Returns all combinations.
    pub fn cases(&self) -> Vec<(TunnelKey, Case)> {
        let mut keys = vec![TunnelKey {
            profile: Profile::Ours,
            rates_mbit: [1; 2],
            delays_ms: [0; 2],
            jitters_ms: [0.0; 2],
            loss_percent: 0.0,
            queue_ms: 100,
            weights: None,
            window: None,
            max_delay_ms: None,
            early_release: None,
            late: None,
            seconds: self.seconds.as_ref().map_or(10, |it| *it.get_ref()),
            seed: 0,
        }];
        let seeds: Vec<u64> = (0..*self.seeds.get_ref()).collect();
        combine(&mut keys, Some(self.profiles.get_ref()), |key, it| key.profile = it);
        combine(&mut keys, Some(self.rates.get_ref()), |key, it| key.rates_mbit = it.0);
        combine(&mut keys, Some(self.delays.get_ref()), |key, it| key.delays_ms = it.0);
        combine(&mut keys, list(&self.jitters), |key, it| key.jitters_ms = it.0);
        combine(&mut keys, list(&self.losses), |key, it| key.loss_percent = it);
        combine(&mut keys, list(&self.queues), |key, it| key.queue_ms = it);
        combine(&mut keys, list(&self.weights), |key, it| key.weights = Some(it.0));
        combine(&mut keys, list(&self.windows), |key, it| key.window = Some(it));
        combine(&mut keys, list(&self.max_delays), |key, it| key.max_delay_ms = Some(it));
        combine(&mut keys, list(&self.early_release), |key, it| key.early_release = Some(it));
        combine(&mut keys, list(&self.late), |key, it| key.late = Some(it));
        combine(&mut keys, Some(&seeds), |key, it| key.seed = it);
        keys.into_iter().map(|key| (key, key.case())).collect()
    }
}

impl TunnelKey {
    fn case(&self) -> Case {
        let path = |index: usize| {
            let delay = Duration::from_millis(self.delays_ms[index]);
            let path = Path::new(self.rates_mbit[index], delay);
            Path {
                jitter: Duration::from_secs_f64(self.jitters_ms[index] / 1e3),
                loss: Probability::new(self.loss_percent / 100.0).map_or(Loss::None, Loss::from),
                queue: Duration::from_millis(self.queue_ms),
                weight: self.weights.map_or(path.weight, |weights| weights[index]),
                ..path
            }
        };
        let mut case = Case::new(self.profile, vec![path(0), path(1)], self.seed);
        case.duration = Duration::from_secs(self.seconds);
        let reorder = &mut case.reorder;
        reorder.window = self.window.or(reorder.window);
        reorder.max_delay = self.max_delay_ms.map(Duration::from_millis).or(reorder.max_delay);
        reorder.early_release = self.early_release.unwrap_or(reorder.early_release);
        reorder.late = match self.late {
            None => reorder.late,
            Some(Late::Deliver) => reorder::Late::Deliver,
            Some(Late::Drop) => reorder::Late::Drop,
        };
        case
    }
}
