//! An experiment, worked out: every measurement it is made of, and what the paper published.

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
    /// One line.
    pub(crate) title: String,
    /// The paper and the place in it, such as `imareen2023, Table I`; empty for experiments of our own.
    pub(crate) source: String,
    /// What is measured and why, how it differs from the paper: paragraphs of Markdown.
    pub(crate) about: String,
    /// What varies, in the order of the file.
    pub(crate) axes: Vec<Axis>,
    /// What is measured in each cell, in the order of the file.
    pub(crate) rows: Vec<Row>,
    /// The metric that tables show first; see [`crate::experiments::case::metric`].
    pub(crate) metric: String,
    /// Other metrics to show, in this order.
    pub(crate) also: Vec<String>,
    /// Series over time to plot, such as `goodput`.
    pub(crate) plots: Vec<String>,
    /// A run fails when an expectation that is no goal is not met.
    #[serde(default)]
    pub(crate) strict: bool,
    /// All measurements. Several may have the same specification, and are then made once.
    pub(crate) cases: Vec<PlannedCase>,
    /// What the paper published.
    pub(crate) published: Vec<Published>,
    /// What the figures must show.
    pub(crate) expectations: Vec<Expectation>,
}

/// What varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Axis {
    /// Name in the file.
    pub(crate) name: String,
    /// For headings, such as `delay of path 1, each way`.
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
    /// For tables, such as `tunnel, our defaults`.
    pub(crate) label: String,
}

/// A measurement and its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedCase {
    /// Where it stands.
    pub(crate) cell: Cell,
    /// Name of its row.
    pub(crate) row: String,
    /// What is measured.
    pub(crate) spec: CaseSpec,
}

/// A figure of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    /// Its cell; axes that are not named: the same for all their values.
    pub(crate) cell: Cell,
    /// The row it is laid beside.
    pub(crate) row: String,
    /// The metric.
    pub(crate) metric: String,
    /// The figure.
    pub(crate) value: f64,
}

/// What the figures must show, in every cell: `row / (sum of over)`, or `row - sum` where `difference` is set, lies
/// between the limits. Medians over the repetitions are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectation {
    /// For the report: what it means.
    pub(crate) what: String,
    /// The row that is judged.
    pub(crate) row: String,
    /// The metric that is judged.
    pub(crate) metric: String,
    /// The rows it is compared with, summed; none: the figure itself is judged.
    pub(crate) over: Vec<String>,
    /// Compare by difference instead of by ratio.
    pub(crate) difference: bool,
    /// Lower limit.
    pub(crate) at_least: Option<f64>,
    /// Upper limit.
    pub(crate) at_most: Option<f64>,
    /// Only in the cells that have these values.
    pub(crate) only: Cell,
    /// A wish, not a demand: reported, never failed.
    pub(crate) goal: bool,
}

impl CaseSpec {
    /// Names a measurement by what it is made of: equal specifications have equal fingerprints, in all runs of the same
    /// version. 16 hexadecimal digits, for file names.
    pub(crate) fn fingerprint(&self) -> String {
        use std::hash::Hasher;
        // Maps are ordered, so equal specifications are equal texts. A specification always has one.
        let text = serde_json::to_vec(self).unwrap_or_default();
        let mut hasher = rustc_hash::FxHasher::default();
        hasher.write(&text);
        format!("{:016x}", hasher.finish())
    }
}
