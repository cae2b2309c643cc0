//! The analysis of observations: the figures that papers print.

use std::time::Duration;

/// Interval of all series: the papers plot seconds, ten times finer shows the start of TCP.
pub(crate) const STEP: Duration = Duration::from_millis(100);
/// Steps in a second.
const STEPS: usize = 10;
/// Part of the stable throughput from which a second counts as stable: the throughput of a flow in congestion avoidance varies by some percent.
const STABLE: f64 = 0.95;

/// Returns sums of values at equal intervals of [`STEP`], from values over intervals of about that length: each is spread evenly over its interval.
/// An incomplete interval at the end is left out.
pub(crate) fn at_equal_intervals(intervals: &[(f64, f64, f64)]) -> Vec<f64> {
    let step = STEP.as_secs_f64();
    let end = intervals.iter().map(|&(_, end, _)| end).fold(0.0, f64::max);
    // Half a step less than a whole one is taken for it: timers are late.
    let mut bins = vec![0.0; (end / step + 0.5) as usize];
    for &(start, end, value) in intervals {
        let length = end - start;
        if !length.is_finite() || length <= 0.0 {
            continue;
        }
        let mut from = start.max(0.0);
        while from < end {
            let bin = (from / step + 1e-9) as usize;
            let until = ((bin + 1) as f64 * step).min(end);
            if let Some(bin) = bins.get_mut(bin) {
                *bin += value * (until - from) / length;
            }
            // Rounding must not stop the progress.
            from = until.max(from + step * 1e-6);
        }
    }
    bins
}

/// Returns the mean of a series over seconds 3 to 10, or over the part of them that it covers; `None` when that is less than a second.
pub(crate) fn seconds_3_to_10(series: &[f64]) -> Option<f64> {
    let part = series.get(3 * STEPS..series.len().min(10 * STEPS))?;
    (part.len() >= STEPS).then(|| mean(part))
}

/// Returns the mean of a series between two times in seconds; `None` where it does not cover a second of them.
pub(crate) fn between(series: &[f64], (from, to): (f64, f64)) -> Option<f64> {
    let step = |time: f64| (time / STEP.as_secs_f64()).round() as usize;
    let part = series.get(step(from)..series.len().min(step(to)))?;
    (part.len() >= STEPS).then(|| mean(part))
}

/// Returns the seconds after `from` from which on every half second of the next three has nine tenths of `rate` on average, as long as these three
/// seconds end by `to`.
pub(crate) fn reached(series: &[f64], (from, to): (f64, f64), rate: f64) -> Option<f64> {
    const WINDOW: usize = STEPS / 2;
    const HELD: usize = 3 * STEPS;
    const REACHED: f64 = 0.9;
    let step = |time: f64| (time / STEP.as_secs_f64()).round() as usize;
    let (from, to) = (step(from), step(to).min(series.len()));
    let is_held = |&begin: &usize| {
        let windows = series[begin..begin + HELD].windows(WINDOW);
        windows.map(mean).all(|mean| mean >= REACHED * rate)
    };
    let begin = (from..=to.checked_sub(HELD)?).find(is_held)?;
    Some((begin - from) as f64 * STEP.as_secs_f64())
}

/// Returns the length of the transient at the start in whole seconds: "the time interval in which the initial throughput was smaller than the
/// throughput in the stable state" (imareen2025, section 5.3), which the paper gives in whole seconds, those of iperf3's report. Stable is the median
/// of the seconds of the second half; a second belongs to the transient until the first one that reaches 95 % of it. `None` for a series of less than
/// four seconds.
pub(crate) fn transient(series: &[f64]) -> Option<f64> {
    let seconds: Vec<f64> = series.chunks_exact(STEPS).map(mean).collect();
    if seconds.len() < 4 {
        return None;
    }
    let mut second_half = seconds[seconds.len() / 2..].to_vec();
    second_half.sort_by(f64::total_cmp);
    let stable = mpt_report::statistics::percentile(&second_half, 50.0);
    let first = seconds.iter().position(|&second| second >= STABLE * stable);
    Some(first.unwrap_or(seconds.len()) as f64)
}

/// The longest time after the first byte in which less than 1 % of the usual throughput arrived, in milliseconds: whole intervals of
/// [`STEP`], so that a gap shorter than two of them may not be seen. Usual is the median. `None` where nothing arrived.
pub(crate) fn longest_gap(series: &[f64]) -> Option<f64> {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let least = mpt_report::statistics::percentile(&sorted, 50.0) / 100.0;
    let first = series.iter().position(|&rate| rate > least)?;
    let gaps = series[first..].split(|&rate| rate > least);
    gaps.map(|gap| gap.len() as f64 * STEP.as_millis() as f64).reduce(f64::max)
}

/// Returns the "expected absolute value of the total packet delay variation" (imareen2023, equation 1): the variations of the inter-packet delay at
/// the nodes of the route sum up to the difference of the delays of two successive packets from end to end. The unit is that of the delays. `None`
/// for less than two packets.
pub(crate) fn jitter(delays: impl IntoIterator<Item = f64>) -> Option<f64> {
    let delays: Vec<f64> = delays.into_iter().collect();
    let variations: Vec<f64> = delays.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    (!variations.is_empty()).then(|| mean(&variations))
}

/// Returns the mean of values; 0 for none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    // Sums are rounded: equal values would have another mean.
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (values.iter().sum::<f64>() / values.len() as f64).max(least).min(most)
}

/// Returns the standard deviation of all values (not of a sample), as `ping` gives it; 0 for none.
pub(crate) fn standard_deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - mean).powi(2)).collect();
    self::mean(&squares).sqrt()
}

/// Converts bytes in intervals of [`STEP`] to Mbit/s.
pub(crate) fn megabits(bins: &[f64]) -> Vec<f64> {
    bins.iter().map(|bytes| bytes * 8.0 / 1e6 / STEP.as_secs_f64()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_within_its_values() {
        for count in 1..100 {
            assert_eq!(mean(&vec![20.2; count]), 20.2, "{count}");
        }
        assert_eq!(mean(&[1.0, 2.0]), 1.5);
        assert_eq!(mean(&[]), 0.0);
    }

    #[test]
    fn a_gap_is_that_in_which_hardly_anything_arrives() {
        let series = [0.0, 0.0, 9.0, 0.0, 9.0, 0.05, 0.0, 0.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0];
        assert_eq!(longest_gap(&series), Some(300.0));
        assert_eq!(longest_gap(&[10.0, 10.0, 0.0, 0.0]), Some(200.0), "the end counts");
        assert_eq!(longest_gap(&[10.0, 9.0]), Some(0.0));
        assert_eq!(longest_gap(&[0.0; 5]), None);
        assert_eq!(longest_gap(&[]), None);
    }

    #[test]
    fn intervals_are_cut_where_they_cross() {
        let bins = at_equal_intervals(&[(0.0, 0.1, 10.0), (0.1, 0.25, 15.0), (0.25, 0.3, 5.0)]);
        assert_eq!(bins.len(), 3);
        for bin in bins {
            assert!((bin - 10.0).abs() < 1e-6, "{bin}");
        }
        assert_eq!(at_equal_intervals(&[(0.0, 0.1, 1.0), (0.1, 0.14, 1.0)]).len(), 1);
        assert!(at_equal_intervals(&[(0.0, f64::NAN, 1.0)]).is_empty());
    }

    #[test]
    fn a_transient_is_the_seconds_until_the_first_stable_one() {
        let seconds =
            |values: &[f64]| values.iter().flat_map(|&it| [it; STEPS]).collect::<Vec<_>>();
        assert_eq!(transient(&seconds(&[100.0, 99.0, 100.0, 101.0])), Some(0.0));
        assert_eq!(transient(&seconds(&[10.0, 50.0, 94.9, 95.1, 100.0, 100.0, 100.0])), Some(3.0));
        assert_eq!(transient(&seconds(&[10.0, 50.0, 60.0])), None);
    }

    #[test]
    fn jitter_is_the_mean_change_of_delay() {
        assert_eq!(jitter([1.0, 3.0, 2.0]), Some(1.5));
        assert_eq!(jitter([1.0]), None);
    }

    #[test]
    fn a_rate_is_reached_when_it_is_held() {
        let mut series = vec![100.0; 50];
        series.extend([20.0; 8]);
        // A moment above it that is not held.
        series.extend([100.0; 10]);
        series.extend([20.0; 4]);
        series.extend([65.0; 60]);
        let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
        assert!(close(reached(&series, (5.0, 13.0), 65.0), 2.2));
        assert!(close(reached(&series, (0.0, 5.0), 100.0), 0.0));
        assert_eq!(reached(&series, (5.0, 10.0), 65.0), None, "not held until then");
        assert_eq!(reached(&series, (5.0, 13.0), 80.0), None);
        assert_eq!(reached(&[1.0; 5], (0.0, 1.0), 1.0), None);
    }

    #[test]
    fn a_mean_is_that_between_two_times() {
        let series: Vec<f64> = (0..80).map(f64::from).collect();
        assert_eq!(between(&series, (1.0, 2.0)), Some(14.5));
        assert_eq!(between(&series, (7.0, 20.0)), Some(74.5), "of what is there");
        assert_eq!(between(&series, (7.5, 20.0)), None);
        assert_eq!(between(&series, (10.0, 20.0)), None);
    }

    #[test]
    fn the_mean_of_seconds_3_to_10_takes_what_is_there() {
        let series: Vec<f64> = (0..80).map(f64::from).collect();
        assert_eq!(seconds_3_to_10(&series), Some((30.0 + 79.0) / 2.0));
        assert_eq!(seconds_3_to_10(&[1.0; 200]), Some(1.0));
        assert_eq!(seconds_3_to_10(&series[..39]), None);
        assert_eq!(seconds_3_to_10(&[]), None);
    }

    #[test]
    fn deviation_is_that_of_all_values() {
        assert_eq!(standard_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), 2.0);
        assert_eq!(standard_deviation(&[]), 0.0);
    }
}
