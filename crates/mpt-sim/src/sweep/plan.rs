//! Plans of the reordering study.

use std::ops::RangeInclusive;
use std::time::Duration;

use mpt_link::{Bitrate, Loss, Probability, Redraw};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::study::{Case, FILE, Fluctuation, PathPlan, Profile};
use crate::transport::congestion::Control;
use crate::transport::mptcp::Scheduler;
use crate::transport::tcp::Treatment;

use super::Kind;
use super::check::{Fault, combine, each, list, not_empty, one, read};

/// A plan of the study. Every combination of the values of its keys is a case. A key that a profile has not got is left out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plan {
    #[serde(default, rename = "kind")]
    _kind: Kind,
    profiles: Spanned<Vec<Profile>>,
    treatments: Spanned<Vec<Treatment>>,
    controls: Spanned<Vec<Control>>,
    /// Difference of the delays: SF-0 has 10 ms.
    #[serde(rename = "differences-ms")]
    differences: Spanned<Vec<u64>>,
    seeds: Spanned<u64>,
    #[serde(default)]
    packets: Option<Spanned<u64>>,
    #[serde(default)]
    schedulers: Option<Spanned<Vec<Scheduler>>>,
    /// Receive buffers in packets.
    #[serde(default)]
    receive_buffers: Option<Spanned<Vec<u64>>>,
    #[serde(default, rename = "minimum-rtos-ms")]
    minimum_rtos: Option<Spanned<Vec<u64>>>,
    /// Rate of both paths, in kbit/s.
    #[serde(default, rename = "rates-kbit")]
    rates: Option<Spanned<Vec<u64>>>,
    /// Queue of both paths, in packets.
    #[serde(default)]
    queues: Option<Spanned<Vec<usize>>>,
    #[serde(default, rename = "losses-percent")]
    losses: Option<Spanned<Vec<f64>>>,
    #[serde(default, rename = "fluctuation-percent")]
    fluctuation: Option<Spanned<f64>>,
    /// Time between changes of the delay, in ms; 0 changes it for every packet.
    #[serde(default, rename = "redraw-ms")]
    redraw: Option<Spanned<u64>>,
}

/// The values that make a case; results are found by them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    profile: Profile,
    treatment: Treatment,
    control: Control,
    difference_ms: u64,
    scheduler: Scheduler,
    receive_buffer: Option<u64>,
    minimum_rto_ms: Option<u64>,
    rate_kbit: u64,
    queue: usize,
    loss_percent: f64,
    fluctuation_percent: f64,
    redraw_ms: u64,
    packets: u64,
    seed: u64,
}

/// Ranges of values: they are bounded to a day of simulated traffic, and to links that exist.
const SEEDS: RangeInclusive<u64> = 1..=10_000;
const PACKETS: RangeInclusive<u64> = 1..=1_000_000_000;
const MILLISECONDS: RangeInclusive<u64> = 0..=60_000;
const KILOBITS: RangeInclusive<u64> = 1..=100_000_000;
const QUEUE: RangeInclusive<usize> = 1..=1_000_000;
const BUFFER: RangeInclusive<u64> = 1..=10_000_000;
const LOSS: RangeInclusive<f64> = 0.0..=90.0;
const FLUCTUATION: RangeInclusive<f64> = 0.0..=100.0;

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    ///
    /// Returns the first fault: an unknown key, an empty list, or an impossible value.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let plan: Self = read(text)?;
        plan.check(text)?;
        Ok(plan)
    }

    fn check(&self, text: &str) -> Result<(), Fault> {
        not_empty(text, "profiles", Some(&self.profiles))?;
        not_empty(text, "treatments", Some(&self.treatments))?;
        not_empty(text, "controls", Some(&self.controls))?;
        not_empty(text, "schedulers", self.schedulers.as_ref())?;
        each(text, "differences-ms", Some(&self.differences), &MILLISECONDS)?;
        each(text, "receive-buffers", self.receive_buffers.as_ref(), &BUFFER)?;
        each(text, "minimum-rtos-ms", self.minimum_rtos.as_ref(), &(1..=*MILLISECONDS.end()))?;
        each(text, "rates-kbit", self.rates.as_ref(), &KILOBITS)?;
        each(text, "queues", self.queues.as_ref(), &QUEUE)?;
        each(text, "losses-percent", self.losses.as_ref(), &LOSS)?;
        one(text, "seeds", Some(&self.seeds), &SEEDS)?;
        one(text, "packets", self.packets.as_ref(), &PACKETS)?;
        one(text, "fluctuation-percent", self.fluctuation.as_ref(), &FLUCTUATION)?;
        one(text, "redraw-ms", self.redraw.as_ref(), &MILLISECONDS)
    }

    /// Returns all combinations that exist.
    pub fn cases(&self) -> Vec<(Key, Case)> {
        let mut keys = vec![Key {
            profile: Profile::Rfc,
            treatment: Treatment::None,
            control: Control::Reno,
            difference_ms: 0,
            scheduler: Scheduler::RoundRobin,
            receive_buffer: None,
            minimum_rto_ms: None,
            rate_kbit: 500,
            queue: 100,
            loss_percent: 0.0,
            fluctuation_percent: self.fluctuation.as_ref().map_or(5.0, |it| *it.get_ref()),
            redraw_ms: self.redraw.as_ref().map_or(1000, |it| *it.get_ref()),
            packets: self.packets.as_ref().map_or(FILE, |it| *it.get_ref()),
            seed: 0,
        }];
        let seeds: Vec<u64> = (0..*self.seeds.get_ref()).collect();
        combine(&mut keys, Some(self.profiles.get_ref()), |key, it| key.profile = it);
        combine(&mut keys, Some(self.treatments.get_ref()), |key, it| key.treatment = it);
        combine(&mut keys, Some(self.controls.get_ref()), |key, it| key.control = it);
        combine(&mut keys, Some(self.differences.get_ref()), |key, it| key.difference_ms = it);
        combine(&mut keys, list(&self.schedulers), |key, it| key.scheduler = it);
        combine(&mut keys, list(&self.receive_buffers), |key, it| key.receive_buffer = Some(it));
        combine(&mut keys, list(&self.minimum_rtos), |key, it| key.minimum_rto_ms = Some(it));
        combine(&mut keys, list(&self.rates), |key, it| key.rate_kbit = it);
        combine(&mut keys, list(&self.queues), |key, it| key.queue = it);
        combine(&mut keys, list(&self.losses), |key, it| key.loss_percent = it);
        combine(&mut keys, Some(&seeds), |key, it| key.seed = it);
        let cases = keys.into_iter().map(|key| (key, key.case()));
        cases.filter(|(_, case)| case.exists()).collect()
    }
}

impl Key {
    fn case(&self) -> Case {
        let near = Duration::from_millis(10);
        let redraw = match self.redraw_ms {
            0 => Redraw::EveryPacket,
            period => Redraw::Every(Duration::from_millis(period)),
        };
        let loss = Probability::new(self.loss_percent / 100.0);
        let path = |delay| {
            let base = PathPlan::study(delay);
            PathPlan {
                rate: Bitrate::new(self.rate_kbit * 1000).unwrap_or(base.rate),
                fluctuation: Some(Fluctuation { share: self.fluctuation_percent / 100.0, redraw }),
                queue: self.queue,
                loss: loss.map_or(Loss::None, Loss::from),
                ..base
            }
        };
        Case {
            paths: [near, near + Duration::from_millis(self.difference_ms)].map(path),
            packets: self.packets,
            minimum_rto: self.minimum_rto_ms.map(Duration::from_millis),
            scheduler: self.scheduler,
            receive_buffer: self.receive_buffer,
            ..Case::study(self.profile, self.treatment, self.control, self.seed)
        }
    }
}
