//! Measured values, by name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use mpt_report::statistics;

/// Every measured value, in the order in which they were measured: one or more in each round. The command that measures defines the names and their
/// units.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Samples(BTreeMap<String, Vec<f64>>);

impl Samples {
    /// Adds one value.
    pub(crate) fn add(&mut self, name: impl Into<String>, value: f64) {
        self.0.entry(name.into()).or_default().push(value);
    }

    /// Adds all values of `other` behind those that are here.
    pub(crate) fn append(&mut self, other: Self) {
        for (name, values) in other.0 {
            self.0.entry(name).or_default().extend(values);
        }
    }

    /// Returns the values of this name, in the order in which they were measured.
    pub(crate) fn values(&self, name: &str) -> &[f64] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the median of the values of this name; `None` when nothing was measured.
    pub(crate) fn median(&self, name: &str) -> Option<f64> {
        statistics::median(self.0.get(name)?)
    }

    /// Returns the largest of the values whose name ends like this.
    pub(crate) fn largest(&self, ending: &str) -> Option<f64> {
        let values = self.0.iter().filter(|(name, _)| name.ends_with(ending));
        values.flat_map(|(_, values)| values).copied().max_by(f64::total_cmp)
    }

    /// Returns every name.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_largest() {
        let mut samples = Samples::default();
        for value in [3.0, 1.0, 2.0] {
            samples.add("a/memory/peak", value);
        }
        samples.add("b/memory/peak", 9.0);
        assert_eq!(samples.median("a/memory/peak"), Some(2.0));
        assert_eq!(samples.median("c"), None);
        assert_eq!(samples.largest("/peak"), Some(9.0));
        assert_eq!(samples.largest("/none"), None);
    }
}
