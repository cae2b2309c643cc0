//! The table of one metric of an experiment, before it is written in any format: one line per cell, the paper's figures beside the measured ones.

use crate::experiments::report::figure::{Figure, Grid, Mark, Spread, is_path};
use crate::experiments::report::quantity::{Quantity, adds_up, percent, published};

/// Most single paths that are shown; more are shown as their sum only.
const MANY_PATHS: usize = 3;

/// A table.
#[derive(Clone, Debug)]
pub(super) struct Sheet {
    pub(super) quantity: Quantity,
    /// Labels of the axes, the first columns.
    pub(super) axes: Vec<String>,
    pub(super) columns: Vec<Column>,
    pub(super) lines: Vec<Line>,
}

/// A row of the experiment is a column of the table.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// Name of the row; [`SUM`] for the sum of the paths.
    pub(super) row: String,
    pub(super) label: String,
    /// True if the paper published figures for it, which get a column of their own.
    pub(super) published: bool,
}

/// The name of the sum of the paths among rows.
pub(super) const SUM: &str = "sum of paths";

/// A cell of the experiment is a line of the table.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Values of the axes; empty where the cell is of all of them.
    pub(super) values: Vec<String>,
    pub(super) entries: Vec<Entry>,
}

/// One row in one cell.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The paper's figure, empty for none.
    pub(super) published: String,
    pub(super) here: Here,
    /// Its relation to the sum of the paths.
    pub(super) efficiency: Option<String>,
}

/// The measured value, or the mark that replaces it.
#[derive(Clone, Debug)]
pub(super) enum Here {
    Nothing,
    Mark(Mark),
    Figure {
        median: String,
        /// Smallest and largest of several values.
        spread: Option<String>,
        /// Number of sound repetitions, if not all were sound.
        sound: Option<String>,
    },
}

impl Sheet {
    /// Returns the table of this metric; `None` when there is nothing to show.
    pub(super) fn new(grid: &Grid, metric: &str) -> Option<Self> {
        let columns = columns(grid, metric);
        if columns.is_empty() {
            return None;
        }
        let axes = &grid.results.plan.axes;
        let lines = (0..grid.cells.len()).map(|cell| Line {
            values: axes
                .iter()
                .map(|axis| grid.cells[cell].get(&axis.name).cloned().unwrap_or_default())
                .collect(),
            entries: columns.iter().map(|column| entry(grid, cell, column, metric)).collect(),
        });
        Some(Self {
            quantity: Quantity::of(metric),
            axes: axes.iter().map(|axis| axis.label.clone()).collect(),
            lines: lines.collect(),
            columns,
        })
    }
}

impl Entry {
    /// Returns everything in one text: `101.2 (99.8 to 102.0) 97.2 %`; without the range where there is no room for it.
    pub(super) fn text(&self, with_range: bool) -> String {
        let mut text = match &self.here {
            Here::Nothing => String::new(),
            Here::Mark(mark) => mark.word().to_owned(),
            Here::Figure { median, spread, sound } => {
                let mut text = median.clone();
                if let Some(spread) = spread.as_ref().filter(|_| with_range) {
                    text += &format!(" ({spread})");
                }
                if let Some(sound) = sound {
                    text += &format!(" [{sound}]");
                }
                text
            }
        };
        if let Some(efficiency) = &self.efficiency {
            text += &format!(" {efficiency}");
        }
        text
    }
}

fn columns(grid: &Grid, metric: &str) -> Vec<Column> {
    let cells = 0..grid.cells.len();
    let paths = grid.path_rows().count();
    let mut columns = Vec::new();
    for row in &grid.results.plan.rows {
        let name = row.name.as_str();
        let published = cells.clone().any(|cell| grid.published(cell, name, metric).is_some());
        let measured = cells.clone().any(|cell| grid.figure(cell, name, metric) != Figure::Absent);
        if (measured || published) && !(is_path(name) && paths > MANY_PATHS) {
            let (row, label) = (row.name.clone(), row.label.clone());
            columns.push(Column { row, label, published });
        }
        let last_path = grid.path_rows().last() == Some(name);
        if last_path && paths > 1 && adds_up(metric) {
            columns.push(Column { row: SUM.into(), label: SUM.into(), published: false });
        }
    }
    columns
}

fn entry(grid: &Grid, cell: usize, column: &Column, metric: &str) -> Entry {
    let quantity = Quantity::of(metric);
    if column.row == SUM {
        let here = match grid.sum_of_paths(cell, metric) {
            Some(sum) => Here::Figure { median: quantity.number(sum), spread: None, sound: None },
            None => Here::Nothing,
        };
        return Entry { published: String::new(), here, efficiency: None };
    }
    let published = match grid.published(cell, &column.row, metric) {
        None => String::new(),
        Some((value, 1.0)) => published(value),
        Some((value, scale)) => {
            format!(
                "{} ({} / {})",
                quantity.number(value / scale),
                published(value),
                published(scale)
            )
        }
    };
    let here = match grid.figure(cell, &column.row, metric) {
        Figure::Absent => Here::Nothing,
        Figure::Marked(mark) => Here::Mark(mark),
        Figure::Sound { spread, planned } => Here::Figure {
            median: quantity.number(spread.median),
            spread: (spread.count > 1).then(|| range(&quantity, spread)),
            sound: (spread.count < planned).then(|| format!("{} of {planned}", spread.count)),
        },
    };
    Entry { published, here, efficiency: grid.efficiency(cell, &column.row, metric).map(percent) }
}

fn range(quantity: &Quantity, spread: Spread) -> String {
    format!("{} to {}", quantity.number(spread.min), quantity.number(spread.max))
}
