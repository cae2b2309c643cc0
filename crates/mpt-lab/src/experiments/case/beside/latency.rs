//! Round-trip times of messages that are sent at regular intervals, before the traffic and beside it.

use super::Window;
use crate::experiments::case::result::analysis;
use crate::experiments::case::traffic::Outcome;
use mpt_report::statistics::percentile;

/// A message that was sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    /// Seconds since the traffic began; negative before.
    pub(super) at: f64,
    /// Time until the answer came, in milliseconds; `None` if none came.
    pub(super) time: Option<f64>,
}

/// Names of the figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names {
    /// The series of times.
    pub(super) series: &'static str,
    /// The metric of the median before the traffic.
    pub(super) idle: &'static str,
    /// The metrics of the median and the 95th percentile beside the traffic.
    pub(super) p50: &'static str,
    pub(super) p95: &'static str,
    /// The metrics of the increase over the median before the traffic.
    pub(super) p50_added: &'static str,
    pub(super) p95_added: &'static str,
    /// The metric of the share that was never answered beside the traffic.
    pub(super) lost: &'static str,
}

/// Adds all figures. Samples without an answer count as lost, and in no time.
pub(super) fn add(samples: &[Sample], names: Names, window: &Window, outcome: &mut Outcome) {
    let sorted = |wanted: &dyn Fn(f64) -> bool| {
        let times = samples.iter().filter(|sample| wanted(sample.at));
        let mut times: Vec<f64> = times.filter_map(|sample| sample.time).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let idle = sorted(&|at| window.is_before(at));
    let beside = sorted(&|at| window.counts(at));
    let quantile =
        |times: &[f64], percent| Some(percentile(times, percent)).filter(|time| time.is_finite());
    let alone = quantile(&idle, 50.0);
    outcome.metric(names.idle, alone);
    for (percent, name, added) in
        [(50.0, names.p50, names.p50_added), (95.0, names.p95, names.p95_added)]
    {
        let time = quantile(&beside, percent);
        outcome.metric(name, time);
        outcome.metric(added, time.zip(alone).map(|(time, alone)| time - alone));
    }
    let sent = samples.iter().filter(|sample| window.counts(sample.at)).count();
    let lost = sent.saturating_sub(beside.len());
    outcome.metric(names.lost, (sent > 0).then(|| 100.0 * lost as f64 / sent as f64));
    outcome.series(names.series, "ms", over_time(samples, window));
}

/// The longest time of each [`analysis::STEP`] since the traffic began; where nothing was answered, that of the step before.
fn over_time(samples: &[Sample], window: &Window) -> Vec<f64> {
    let step = analysis::STEP.as_secs_f64();
    // Half a step less than a whole one is taken for it.
    let count = (window.duration.as_secs_f64() / step + 0.5) as usize;
    let mut steps: Vec<Option<f64>> = vec![None; count];
    let mut before = 0.0;
    for sample in samples {
        let Some(time) = sample.time else { continue };
        if sample.at < 0.0 {
            before = time;
        } else if let Some(longest) = steps.get_mut((sample.at / step + 1e-9) as usize) {
            *longest = Some(longest.unwrap_or(0.0).max(time));
        }
    }
    let held = |held: &mut f64, time: Option<f64>| {
        *held = time.unwrap_or(*held);
        Some(*held)
    };
    steps.into_iter().scan(before, held).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::traffic::Moment;

    const NAMES: Names = Names {
        series: "ping",
        idle: "idle",
        p50: "p50",
        p95: "p95",
        p50_added: "p50 added",
        p95_added: "p95 added",
        lost: "lost",
    };

    fn outcome(samples: &[(f64, Option<f64>)]) -> Outcome {
        let samples: Vec<Sample> = samples.iter().map(|&(at, time)| Sample { at, time }).collect();
        let window =
            Window { began: Moment(0), duration: Duration::from_secs(1), counts: (0.3, 0.9) };
        let mut outcome = Outcome::default();
        add(&samples, NAMES, &window, &mut outcome);
        outcome
    }

    #[test]
    fn times_beside_the_traffic_are_compared_with_those_before() {
        let mut samples = vec![(-0.5, Some(40.0)), (-0.4, Some(42.0)), (-0.35, Some(41.0))];
        // Too shortly before, and before what counts.
        samples.extend([(-0.1, Some(500.0)), (0.0, Some(300.0))]);
        samples.extend([(0.3, Some(50.0)), (0.5, None), (0.6, Some(60.0)), (0.7, Some(70.0))]);
        samples.push((0.9, Some(900.0)));
        let outcome = outcome(&samples);
        let value = |name: &str| outcome.metrics[name];
        assert_eq!([value("idle"), value("p50"), value("p95")], [41.0, 60.0, 70.0]);
        assert_eq!([value("p50 added"), value("p95 added"), value("lost")], [19.0, 29.0, 25.0]);
        let series = &outcome.series["ping"].values;
        assert_eq!(series[..7], [300.0, 300.0, 300.0, 50.0, 50.0, 50.0, 60.0]);
    }

    #[test]
    fn silence_is_loss_and_no_time() {
        assert!(outcome(&[]).metrics.is_empty());
        let outcome = outcome(&[(-0.5, Some(40.0)), (0.5, None)]);
        assert_eq!(outcome.metrics["lost"], 100.0);
        assert!(!outcome.metrics.contains_key("p50"));
        assert!(!outcome.metrics.contains_key("p50 added"));
    }
}
