//! Statistical tests of samples against the configured distribution.

use std::ops::RangeInclusive;

/// Probability mass that a 99.9 % interval leaves beyond each of its ends.
const TAIL: f64 = 0.0005;

/// Returns the smallest and largest number of successes that a 99.9 % interval of the binomial distribution holds. The interval is exact.
pub(super) fn binomial_interval(trials: usize, probability: f64) -> RangeInclusive<usize> {
    let ln_factorial: Vec<f64> = std::iter::once(0.0)
        .chain((1..=trials).scan(0.0, |sum, number| {
            *sum += (number as f64).ln();
            Some(*sum)
        }))
        .collect();
    let mass = |successes: usize| {
        let failures = trials - successes;
        let choose = ln_factorial[trials] - ln_factorial[successes] - ln_factorial[failures];
        let chance = successes as f64 * probability.ln() + failures as f64 * (-probability).ln_1p();
        (choose + chance).exp()
    };
    let end = |numbers: &mut dyn Iterator<Item = usize>| {
        let mut tail = 0.0;
        let mut end = 0;
        for number in numbers {
            end = number;
            tail += mass(number);
            if tail > TAIL {
                break;
            }
        }
        end
    };
    end(&mut (0..=trials))..=end(&mut (0..=trials).rev())
}

/// Returns a 99.9 % interval of the mean of a series whose neighbours depend on each other, by resampling blocks of it (Künsch 1989, without
/// overlap). `block` has to be much longer than the dependence.
pub(super) fn block_bootstrap(series: &[bool], block: usize, seed: u64) -> RangeInclusive<f64> {
    const RESAMPLES: usize = 20_000;
    let sums: Vec<u32> = series
        .chunks_exact(block)
        .map(|block| block.iter().map(|&value| u32::from(value)).sum())
        .collect();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let sum: u32 = (0..sums.len()).map(|_| sums[random.usize(..sums.len())]).sum();
            f64::from(sum) / (sums.len() * block) as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let beyond = (RESAMPLES as f64 * TAIL) as usize;
    means[beyond]..=means[RESAMPLES - 1 - beyond]
}

/// Returns the probability that samples of a distribution differ from it as much as these do: the Kolmogorov-Smirnov test (asymptotic, with the
/// correction of Stephens 1970).
pub(super) fn kolmogorov_smirnov(samples: &[f64], cumulative: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let distance = sorted
        .iter()
        .enumerate()
        .map(|(index, &sample)| {
            let expected = cumulative(sample);
            (expected - index as f64 / count).max((index + 1) as f64 / count - expected)
        })
        .fold(0.0, f64::max);
    let root = count.sqrt();
    let lambda = (root + 0.12 + 0.11 / root) * distance;
    // The series does not converge there, and its sum is known.
    if lambda < 0.2 {
        return 1.0;
    }
    let term = |k: f64| (-2.0 * k * k * lambda * lambda).exp();
    let sum: f64 =
        (1..=100).map(f64::from).map(|k| if k % 2.0 == 1.0 { term(k) } else { -term(k) }).sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomial_intervals() {
        // With 10 tosses of a coin, 1/1024 for none or all of them is more than 0.05 %.
        assert_eq!(binomial_interval(10, 0.5), 0..=10);
        // Scipy: binom.ppf([0.0005, 0.9995], 100000, 0.01).
        assert_eq!(binomial_interval(100_000, 0.01), 898..=1105);
    }

    #[test]
    fn bootstrap_intervals_widen_with_dependence() {
        let mut random = fastrand::Rng::with_seed(1);
        let independent: Vec<bool> = (0..100_000).map(|_| random.f64() < 0.1).collect();
        let width = |interval: &RangeInclusive<f64>| interval.end() - interval.start();
        let narrow = block_bootstrap(&independent, 1000, 2);
        assert!(narrow.contains(&0.1), "{narrow:?}");
        // 2 x 3.29 standard deviations of a mean of 100,000.
        assert!((width(&narrow) / 0.00624 - 1.0).abs() < 0.3, "{narrow:?}");
        let dependent: Vec<bool> = (0..10_000).flat_map(|_| [random.f64() < 0.1; 10]).collect();
        let wide = block_bootstrap(&dependent, 1000, 2);
        assert!(width(&wide) > 2.0 * width(&narrow), "{wide:?}");
    }

    #[test]
    fn kolmogorov_and_smirnov_see_a_shift() {
        let uniform = |value: f64| value.clamp(0.0, 1.0);
        let mut random = fastrand::Rng::with_seed(3);
        let samples: Vec<f64> = (0..2000).map(|_| random.f64()).collect();
        assert!(kolmogorov_smirnov(&samples, uniform) > 0.01);
        let shifted: Vec<f64> = samples.iter().map(|sample| sample + 0.1).collect();
        assert!(kolmogorov_smirnov(&shifted, uniform) < 1e-6);
        // Critical value of the 5 % level, for many samples: 1.358 / sqrt(n).
        let exact: Vec<f64> = (0..10_000).map(|n| (f64::from(n) + 0.5) / 1e4 + 0.01353).collect();
        assert!((kolmogorov_smirnov(&exact, uniform) - 0.05).abs() < 0.002);
    }
}
