//! Tables for `docs/experiments.md`, written between its markers.

use std::path::Path;

use anyhow::Result;

use super::sheet::{Line, Sheet};
use crate::experiments::report::figure::Grid;
use crate::experiments::report::notes::accuracy::{Accuracy, sentence};
use crate::experiments::report::notes::{self, Tally, remarks};
use crate::experiments::report::results::{ACCURACY, Results};
use crate::experiments::report::verdict::judge;
use crate::results::document::{self, Filled, escaped};

/// Replaces the text between `<!-- results: NAME -->` and `<!-- end -->` in the file by the tables of the experiments.
///
/// # Errors
///
/// Fails when the file cannot be read or written, or when a marker has no counterpart: then nothing is written.
pub(crate) fn fill(file: &Path, all: &[Results], accuracy: Option<&Accuracy>) -> Result<Filled> {
    document::fill(file, |name| match name {
        ACCURACY => accuracy.map(emulator),
        _ => all.iter().find(|results| results.plan.name == name).map(tables),
    })
}

/// Returns everything of an experiment that belongs into a document.
fn tables(results: &Results) -> String {
    let grid = Grid::new(results);
    let plan = &results.plan;
    let mut text = measured(&grid);
    for metric in std::iter::once(&plan.metric).chain(&plan.also) {
        if let Some(sheet) = Sheet::new(&grid, metric) {
            let heading = capital(&sheet.quantity.heading());
            text += &format!("\n{heading} ({}):\n\n{}", remarks::basis(&grid), table(&sheet));
            for remark in remarks::of(&grid, metric) {
                text += &format!("\n{}\n", escaped(&remark));
            }
        }
    }
    let verdicts = judge(&grid);
    if !verdicts.is_empty() {
        text += "\n| expected | judged | verdict | found |\n|---|---|---|---|\n";
    }
    for verdict in &verdicts {
        let what = escaped(&verdict.expectation.what);
        let (demand, finding) = (escaped(&verdict.demand()), escaped(&verdict.finding(&grid)));
        text += &format!("| {what} | {demand} | {} | {finding} |\n", verdict.status.word());
    }
    let marked = notes::marked(&grid);
    let deviations = notes::deviations(&grid);
    if !marked.is_empty() || !deviations.is_empty() {
        text.push('\n');
    }
    for (word, note) in marked
        .iter()
        .map(|note| ("", note))
        .chain(deviations.iter().map(|note| ("deviation: ", note)))
    {
        text += &format!("- {word}{} ({})\n", escaped(&note.what), escaped(&note.places()));
    }
    text
}

/// Returns the table of the emulator's own experiment.
fn emulator(accuracy: &Accuracy) -> String {
    let mut text =
        format!("{}\n\n| figure | must | measured | |\n|---|---|---|---|\n", sentence(accuracy));
    for row in &accuracy.rows {
        let [figure, must, measured] =
            [&row.figure, &row.must, &row.measured].map(|part| escaped(part));
        let verdict = if row.pass { "met" } else { "missed" };
        text += &format!("| {figure} | {must} | {measured} | {verdict} |\n");
    }
    text
}

/// Returns one line with the time, the machine and the programs of the measurement.
fn measured(grid: &Grid) -> String {
    let facts = notes::environment(grid.results.cases.values());
    let of = |name: &str| {
        let values = facts.iter().find(|(fact, _)| fact == name).map(|(_, values)| values);
        values.map_or_else(
            || "unknown".to_owned(),
            |values| values.iter().map(|value| escaped(value)).collect::<Vec<_>>().join("; "),
        )
    };
    format!(
        "Measured {}; {}; kernel {}; mpt {}; links by {}; {}; {}; {}.\n",
        of("measured"),
        of("machine"),
        of("kernel"),
        of("mpt"),
        notes::backends(grid),
        notes::scales(grid),
        remarks::basis(grid),
        Tally::of(grid).sentence(),
    )
}

fn table(sheet: &Sheet) -> String {
    let mut heading: Vec<String> = sheet.axes.iter().map(|label| escaped(label)).collect();
    for column in &sheet.columns {
        if column.published {
            heading.push(format!("{}, in print", escaped(&column.label)));
        }
        heading.push(escaped(&column.label));
    }
    let rule = heading.iter().map(|_| "---:").collect::<Vec<_>>();
    let mut text = format!("| {} |\n|{}|\n", heading.join(" | "), rule.join("|"));
    for line in &sheet.lines {
        text += &format!("| {} |\n", cells(sheet, line).join(" | "));
    }
    text
}

fn cells(sheet: &Sheet, line: &Line) -> Vec<String> {
    let mut cells: Vec<String> = line.values.iter().map(|value| escaped(value)).collect();
    for (column, entry) in sheet.columns.iter().zip(&line.entries) {
        if column.published {
            cells.push(escaped(&entry.published));
        }
        cells.push(escaped(&entry.text(true)));
    }
    cells
}

/// Returns the text with a capital, for the beginning of a sentence.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::report::samples::delays;

    #[test]
    fn tables_of_an_experiment() {
        insta::assert_snapshot!(tables(&delays().results));
    }
}
