//! Statistics over many runs.

use mpt_report::statistics;
use serde::{Deserialize, Serialize};

/// Returns the middle value, or the mean of the two middle ones; NaN without values.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    Spread::of(values).median
}

/// Median and extremes of a quantity over seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The smallest.
    pub least: f64,
    /// The middle one.
    pub median: f64,
    /// The largest.
    pub most: f64,
}

impl Spread {
    /// Returns the spread of these values; NaN without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let nan_without = |value: Option<f64>| value.unwrap_or(f64::NAN);
        Self {
            least: nan_without(values.iter().copied().min_by(f64::total_cmp)),
            median: nan_without(statistics::median(&values)),
            most: nan_without(values.iter().copied().max_by(f64::total_cmp)),
        }
    }
}
