//! The paper's table with the measured figures next to it, for the terminal.

use std::fmt;

use mpt_text::table::Table;

use super::sheet::{SUM, Sheet};
use crate::experiments::report::figure::Grid;
use crate::experiments::report::notes::{self, Tally};
use crate::experiments::report::results::Results;
use crate::experiments::report::verdict::judge;

/// Writes the first metric's table and the verdicts.
impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grid = Grid::new(self);
        let plan = &self.plan;
        writeln!(f, "{}: {}", plain(&plan.name), plain(&plan.title))?;
        if !plan.source.is_empty() {
            writeln!(f, "{}", plain(&plan.source))?;
        }
        writeln!(f, "{}; {}", notes::backends(&grid), notes::scales(&grid))?;
        if let Some(sheet) = Sheet::new(&grid, &plan.metric) {
            writeln!(f, "\n{}\n", plain(&sheet.quantity.heading()))?;
            write!(f, "{}", table(&sheet))?;
        }
        let verdicts = judge(&grid);
        if !verdicts.is_empty() {
            writeln!(f)?;
        }
        for verdict in verdicts {
            let what = plain(&verdict.expectation.what);
            let (demand, finding) = (plain(&verdict.demand()), plain(&verdict.finding(&grid)));
            writeln!(f, "{:<12} {what}: {demand}; {finding}", verdict.status.word())?;
        }
        let tally = Tally::of(&grid);
        writeln!(f, "\nmeasurements: {}", tally.sentence())?;
        for note in notes::marked(&grid) {
            writeln!(f, "  {} ({})", plain(&note.what), plain(&note.places()))?;
        }
        for note in notes::deviations(&grid) {
            writeln!(f, "deviation: {} ({})", plain(&note.what), plain(&note.places()))?;
        }
        Ok(())
    }
}

fn table(sheet: &Sheet) -> Table {
    let mut heading: Vec<String> = sheet.axes.iter().map(|label| plain(label)).collect();
    for column in &sheet.columns {
        // Names of rows are shorter than their labels, and lines are long enough.
        let name = if column.row == SUM { SUM } else { &column.row };
        if column.published {
            heading.push(format!("{} in print", plain(name)));
        }
        heading.push(plain(name));
    }
    let mut table = Table::ruled(heading);
    for line in &sheet.lines {
        let mut cells: Vec<String> = line.values.iter().map(|value| plain(value)).collect();
        for (column, entry) in sheet.columns.iter().zip(&line.entries) {
            if column.published {
                cells.push(entry.published.clone());
            }
            cells.push(entry.text(false));
        }
        table.row(cells);
    }
    table
}

/// Returns text from a file without control characters that a terminal would obey.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use crate::experiments::report::samples::{Sample, delays};

    #[test]
    fn the_papers_table_with_ours_next_to_it() {
        insta::assert_snapshot!(delays().results.to_string());
    }

    #[test]
    fn an_experiment_without_axes_or_measurements() {
        let sample = Sample::new("x").rows(&["ours"]).planned(&[], "ours", 3);
        let shown = sample.results.to_string();
        assert!(
            shown.contains("not measured") && shown.contains("0 sound, 3 not measured"),
            "{shown}"
        );
        Sample::new("empty").results.to_string();
    }

    #[test]
    fn a_terminal_obeys_no_file() {
        let mut sample = Sample::new("x").rows(&["ours"]).planned(&[], "ours", 1);
        sample.results.plan.title = "\u{1b}[2Jgone".to_owned();
        assert!(!sample.results.to_string().contains('\u{1b}'));
    }
}
