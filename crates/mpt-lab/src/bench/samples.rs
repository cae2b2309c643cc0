//! What was measured, by name.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::statistics;

/// Every measured value, one per round, in the order of the rounds. Names are
/// `stage/measure[/detail]`, units are those of the detail's definition in [`super::measure`].
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Samples(BTreeMap<String, Vec<f64>>);

impl Samples {
    /// Adds one value.
    pub(super) fn add(&mut self, name: impl Into<String>, value: f64) {
        self.0.entry(name.into()).or_default().push(value);
    }

    /// The median of the values of that name; `None` when nothing was measured.
    pub(super) fn median(&self, name: &str) -> Option<f64> {
        statistics::median(self.0.get(name)?)
    }

    /// The largest of the values whose name ends like that.
    pub(super) fn largest(&self, ending: &str) -> Option<f64> {
        let values = self.0.iter().filter(|(name, _)| name.ends_with(ending));
        values.flat_map(|(_, values)| values).copied().max_by(f64::total_cmp)
    }

    /// Every name.
    #[cfg(test)]
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
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
