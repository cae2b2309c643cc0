//! An experiment, worked out: all its measurements, and the figures that the paper published.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::experiments::case::CaseSpec;

/// The place of a measurement in an experiment: axis to value, as the experiment's file writes them.
pub(crate) type Cell = BTreeMap<String, String>;

/// An experiment, worked out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    /// Name of the experiment, such as `imareen2023-table1`.
    pub(crate) name: String,
    /// Its title, in one line.
    pub(crate) title: String,
    /// The paper and the place in it, such as `imareen2023, Table I`; empty for experiments that are not from a paper.
    pub(crate) source: String,
    /// Its description in paragraphs of Markdown: what is measured and why, and how it differs from the paper.
    pub(crate) about: String,
    /// The axes, in the order of the file.
    pub(crate) axes: Vec<Axis>,
    /// The rows of each cell, in the order of the file.
    pub(crate) rows: Vec<Row>,
    /// The metric that tables show first; see [`crate::experiments::case::metric`].
    pub(crate) metric: String,
    /// Other metrics to show, in this order.
    pub(crate) also: Vec<String>,
    /// Series over time to plot, such as `goodput`.
    pub(crate) plots: Vec<String>,
    /// True if a run fails when an expectation that is no goal is not met.
    #[serde(default)]
    pub(crate) strict: bool,
    /// All measurements. Several may have the same specification, and are then measured once.
    pub(crate) cases: Vec<PlannedCase>,
    /// The figures that the paper published.
    pub(crate) published: Vec<Published>,
    /// The expectations that the figures must meet.
    pub(crate) expectations: Vec<Expectation>,
}

/// An axis: a quantity that varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Axis {
    /// Name in the file.
    pub(crate) name: String,
    /// Label for headings, such as `delay of path 1, each way`.
    pub(crate) label: String,
    /// Its values of this run, as the file writes them.
    pub(crate) values: Vec<String>,
}

/// Something that is measured in each cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Name in the file, such as `path1`, `mptcp`, `single-sum`, `paper`, `ours`.
    pub(crate) name: String,
    /// Its label in tables, such as `tunnel, our defaults`.
    pub(crate) label: String,
}

/// A measurement and its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedCase {
    /// Its cell.
    pub(crate) cell: Cell,
    /// Name of its row.
    pub(crate) row: String,
    /// The specification of the measurement.
    pub(crate) spec: CaseSpec,
}

/// A figure of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    /// Its cell. It applies to all values of axes that are not named.
    pub(crate) cell: Cell,
    /// The row beside which it is shown.
    pub(crate) row: String,
    /// The metric.
    pub(crate) metric: String,
    /// The figure.
    pub(crate) value: f64,
}

/// A condition on the figures of every cell: `row / (sum of over)`, or `row - sum` where `difference` is set, lies between the limits. Medians over
/// the repetitions are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectation {
    /// Its meaning, for the report.
    pub(crate) what: String,
    /// The row that is judged.
    pub(crate) row: String,
    /// The metric that is judged.
    pub(crate) metric: String,
    /// The rows with whose sum it is compared; if empty, the figure itself is judged.
    pub(crate) over: Vec<String>,
    /// True to compare by difference instead of by ratio.
    pub(crate) difference: bool,
    /// Lower limit.
    pub(crate) at_least: Option<f64>,
    /// Upper limit.
    pub(crate) at_most: Option<f64>,
    /// The largest ratio that the network allows. A larger one says that the rows of `over` are no sound baseline, and is not judged.
    pub(crate) sound_up_to: Option<f64>,
    /// Values of axes to which the expectation is restricted.
    pub(crate) only: Cell,
    /// True for a wish instead of a demand: it is reported, and never fails a run.
    pub(crate) goal: bool,
}

impl CaseSpec {
    /// Returns a name of the measurement that follows from its specification: equal specifications have equal fingerprints, in all runs of the same
    /// version. It has 16 hexadecimal digits, for file names.
    pub(crate) fn fingerprint(&self) -> String {
        use std::hash::Hasher;
        // Maps are ordered, so equal specifications are equal texts. A specification always has one.
        let text = serde_json::to_vec(self).unwrap_or_default();
        let mut hasher = rustc_hash::FxHasher::default();
        hasher.write(&text);
        format!("{:016x}", hasher.finish())
    }
}
