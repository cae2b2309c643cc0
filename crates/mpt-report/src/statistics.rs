//! The statistics that reports are made of.

/// Returns the middle value, or the mean of the two middle ones. `None` without values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = ascending(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// Returns the bounds of the 95 % confidence interval of the median, by ranks: nothing is assumed of the distribution. `None` for fewer than six
/// values, which have none.
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let sorted = ascending(values);
    let count = sorted.len() as f64;
    // The number of values below the median has a binomial distribution, which is nearly a normal one.
    let below = (0.5 * (count - 1.0) - 0.98 * count.sqrt()).floor();
    if below < 0.0 {
        return None;
    }
    let below = below as usize;
    Some((*sorted.get(below)?, *sorted.get(sorted.len() - 1 - below)?))
}

/// Returns the smallest of the ascending values that at least `percent` % of them do not exceed (nearest rank). NaN
/// without values.
#[must_use]
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

fn ascending(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn the_interval_of_a_median_has_the_binomial_ranks() {
        let values = |count: u32| (1..=count).map(f64::from).collect::<Vec<_>>();
        // Ranks of tables of the sign test, at 95 % or more.
        for (count, first) in
            [(6, 1), (9, 2), (10, 2), (11, 2), (12, 3), (14, 3), (20, 6), (100, 40)]
        {
            let interval = median_interval(&values(count));
            assert_eq!(interval, Some((f64::from(first), f64::from(count + 1 - first))), "{count}");
        }
        assert_eq!(median_interval(&values(5)), None);
        assert_eq!(median_interval(&[]), None);
    }

    #[test]
    fn percentiles() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&hundred, 50.0), 50.0);
        assert_eq!(percentile(&hundred, 99.0), 99.0);
        assert_eq!(percentile(&hundred, 100.0), 100.0);
        assert_eq!(percentile(&[5.0], 99.0), 5.0);
        let four = [1.0, 2.0, 3.0, 4.0];
        let percentiles = [0.0, 25.0, 26.0, 50.0, 95.0, 100.0].map(|it| percentile(&four, it));
        assert_eq!(percentiles, [1.0, 1.0, 2.0, 2.0, 4.0, 4.0]);
        assert!(percentile(&[], 99.0).is_nan());
    }
}
