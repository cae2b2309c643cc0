//! Rates that change in time: from a file, or drawn again and again.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Error, Result};
use mpt_link::Bitrate;

use crate::experiments::definition::syntax::units::{Quantity, Rate, Time};

/// Most points of a trace: an hour at ten values per second.
pub(super) const MOST_POINTS: usize = 36_000;

/// Reads a trace of rates: lines of a time and a rate, separated by a comma. Numbers without a unit are seconds and Mbit/s.
pub(super) fn read_trace(file: &str, directory: Option<&Path>) -> Result<Vec<(Duration, Rate)>> {
    let directory =
        directory.context("an experiment of the catalogue has no directory for trace files")?;
    let path = directory.join(file);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    parse_trace(&text).with_context(|| path.display().to_string())
}

fn parse_trace(text: &str) -> Result<Vec<(Duration, Rate)>> {
    let mut points = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || (index == 0 && line == "time,rate") {
            continue;
        }
        let at = || format!("line {}", index + 1);
        let (time, rate) =
            line.split_once(',').with_context(|| format!("{}: write time,rate", at()))?;
        let with_unit = |text: &str, unit: &str| match text.trim() {
            number if number.parse::<f64>().is_ok() => format!("{number}{unit}"),
            quantity => quantity.to_owned(),
        };
        let parsed = Time::parse(&with_unit(time, "s"));
        let time = parsed.map_err(Error::msg).with_context(at)?;
        // A link that stands still for a while has the lowest rate there is.
        let rate = match with_unit(rate, "mbit").as_str() {
            "0mbit" | "0.0mbit" => Rate(Bitrate::new(1).context("no rate")?),
            text => Rate::parse(text).map_err(Error::msg).with_context(at)?,
        };
        points.push((time.0, rate));
        anyhow::ensure!(points.len() <= MOST_POINTS, "more than {MOST_POINTS} lines");
    }
    Ok(points)
}

/// A rate, drawn again and again from an equal distribution around `rate`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Redrawn {
    /// The mean.
    pub(super) rate: Bitrate,
    /// Time between two draws.
    pub(super) every: Duration,
    /// Largest difference from the mean, as a share of it.
    pub(super) within: f64,
}

impl Redrawn {
    /// Returns the rates from the start until `end`. Equal seeds give equal rates.
    pub(super) fn until(self, end: Duration, seed: u64) -> Vec<(Duration, Bitrate)> {
        let Self { rate, every, within } = self;
        let mut random = fastrand::Rng::with_seed(seed);
        let times = (0..).map(|number| every * number).take_while(|time| *time < end);
        let mut draw = || {
            let share = 1.0 + within * (2.0 * random.f64() - 1.0);
            let bits = (rate.bits_per_second() as f64 * share).round() as u64;
            Bitrate::new(bits.max(1)).unwrap_or(rate)
        };
        times.map(|time| (time, draw())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_lines_of_time_and_rate() {
        let points = parse_trace("time,rate\n# a comment\n0,10\n0.5s,2mbit\n1,0\n").unwrap();
        let rates: Vec<u64> = points.iter().map(|(_, rate)| rate.0.bits_per_second()).collect();
        assert_eq!(rates, [10_000_000, 2_000_000, 1]);
        assert_eq!(points[1].0, Duration::from_millis(500));
        let why = |text| format!("{:#}", parse_trace(text).unwrap_err());
        assert_eq!(why("0,10\n5"), "line 2: write time,rate");
        assert!(why("0,ten").starts_with("line 1: \"ten\" is not a rate; write for example"));
        assert!(why("-1,10").starts_with("line 1: \"-1s\" is not a time"));
    }

    #[test]
    fn drawn_rates_stay_within_their_share_and_are_the_same_again() {
        let mean = Bitrate::from_megabits(50).unwrap();
        let redrawn = Redrawn { rate: mean, every: Duration::from_millis(100), within: 0.4 };
        let rates = redrawn.until(Duration::from_secs(100), 7);
        assert_eq!(rates.len(), 1000);
        assert_eq!(rates[3].0, Duration::from_millis(300));
        let megabits = |rate: &(Duration, Bitrate)| rate.1.bits_per_second() as f64 / 1e6;
        assert!(rates.iter().map(megabits).all(|rate| (30.0..=70.0).contains(&rate)));
        let sum: f64 = rates.iter().map(megabits).sum();
        assert!((sum / 1000.0 - 50.0).abs() < 2.0, "{sum}");
        assert!(rates.iter().any(|rate| megabits(rate) < 32.0));
        assert_eq!(redrawn.until(Duration::from_secs(100), 7), rates);
        assert_ne!(redrawn.until(Duration::from_secs(100), 8), rates);
    }
}
