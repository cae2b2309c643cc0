//! The parts of a report.

use serde::{Deserialize, Serialize};

/// The result of one experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its name on the command line.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Seeds per case.
    pub seeds: u64,
    /// The findings, in sentences.
    pub findings: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Demands that were not met, in sentences.
    #[serde(default)]
    pub misses: Vec<String>,
    /// The course of the runs over time, as comma-separated values, where it was asked for. Not in files: it is long.
    #[serde(skip)]
    pub traces: Vec<String>,
}

/// A table. The first column names the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// Names of the columns.
    pub heading: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name of its file, without extension.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Label of the horizontal axis.
    pub x: String,
    /// Label of the vertical axis.
    pub y: String,
    /// The lines, or the groups of bars.
    pub series: Vec<Series>,
    /// The style of drawing.
    pub style: Style,
    /// Labels below x = 0, 1, ... of bars; if empty, the numbers are printed.
    pub groups: Vec<String>,
}

/// The style of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Lines through the points.
    Lines,
    /// A bar for every point; x counts groups of bars from 0.
    Bars,
}

/// A line, or the bars of one colour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, x and y.
    pub points: Vec<(f64, f64)>,
}

impl Report {
    /// Returns an empty report.
    pub fn new(name: &str, title: &str, seeds: u64) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            seeds,
            findings: Vec::new(),
            tables: Vec::new(),
            figures: Vec::new(),
            misses: Vec::new(),
            traces: Vec::new(),
        }
    }
}

impl Table {
    /// Returns a table without rows.
    pub fn new<'a>(title: &str, heading: impl IntoIterator<Item = &'a str>) -> Self {
        let heading = heading.into_iter().map(str::to_owned).collect();
        Self { title: title.to_owned(), heading, rows: Vec::new() }
    }
}
