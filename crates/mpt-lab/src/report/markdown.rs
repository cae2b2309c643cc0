//! Tables for `docs/experiments.md`, written between its markers.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::accuracy::{Accuracy, sentence};
use super::figure::Grid;
use super::notes::{self, Tally};
use super::remarks;
use super::results::{ACCURACY, Results, replace};
use super::sheet::{Line, Sheet};
use super::verdict::judge;

const BEGIN: &str = "<!-- results: ";
const BEGIN_CLOSE: &str = " -->";
const END: &str = "<!-- end -->";

/// What was put into a document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Filled {
    /// Experiments whose tables were written.
    pub(super) written: Vec<String>,
    /// Markers without results, whose text stayed as it was.
    pub(super) left: Vec<String>,
}

/// Replaces the text between `<!-- results: NAME -->` and `<!-- end -->` in the file by the tables of the experiments.
///
/// # Errors
///
/// When the file cannot be read or written, or when a marker has no counterpart: then nothing is written.
pub(super) fn fill(file: &Path, all: &[Results], accuracy: Option<&Accuracy>) -> Result<Filled> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let tables = |name: &str| match name {
        ACCURACY => accuracy.map(emulator),
        _ => all.iter().find(|results| results.plan.name == name).map(tables),
    };
    let (text, filled) = put(&text, tables).with_context(|| file.display().to_string())?;
    replace(file, text.as_bytes())?;
    Ok(filled)
}

fn put(text: &str, tables: impl Fn(&str) -> Option<String>) -> Result<(String, Filled)> {
    let mut result = String::with_capacity(text.len());
    let mut filled = Filled::default();
    let mut lines = text.split_inclusive('\n').enumerate();
    while let Some((number, line)) = lines.next() {
        result += line;
        let Some(name) = begins(line) else {
            if line.trim() == END {
                bail!("line {}: {END} without a beginning", number + 1);
            }
            continue;
        };
        let mut old = String::new();
        let end = loop {
            match lines.next() {
                Some((_, line)) if line.trim() == END => break line,
                Some((_, line)) if begins(line).is_none() => old += line,
                _ => bail!("line {}: {BEGIN}{name}{BEGIN_CLOSE} without {END}", number + 1),
            }
        };
        match tables(name) {
            Some(new) => {
                result += &format!("\n{new}\n");
                filled.written.push(name.to_owned());
            }
            None => {
                result += &old;
                filled.left.push(name.to_owned());
            }
        }
        result += end;
    }
    Ok((result, filled))
}

fn begins(line: &str) -> Option<&str> {
    line.trim().strip_prefix(BEGIN)?.strip_suffix(BEGIN_CLOSE).map(str::trim)
}

/// Everything of an experiment that belongs into a document.
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

/// The emulator's own experiment.
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

/// One line: when, where, by what.
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

/// Text from a file as the text of one cell of a table: nothing in it is Markdown, HTML or a new line.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' => escaped.extend(['\\', letter]),
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// For the beginning of a sentence.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::super::samples::delays;
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let text = "# Title\r\n<!-- results: a -->\nold\n\nold\n<!-- end -->\nbetween\n\
                    \x20 <!-- results: b -->\nkept\n<!-- end -->\n<!-- results: a -->\n<!-- end -->";
        let (filled, what) = put(text, |name| (name == "a").then(|| "NEW\n".to_owned())).unwrap();
        let expected = "# Title\r\n<!-- results: a -->\n\nNEW\n\n<!-- end -->\nbetween\n\
                        \x20 <!-- results: b -->\nkept\n<!-- end -->\n<!-- results: a -->\n\nNEW\n\n<!-- end -->";
        assert_eq!(filled, expected);
        assert_eq!((what.written, what.left), (vec!["a".into(), "a".into()], vec!["b".into()]));
        let (again, _) = put(&filled, |name| (name == "a").then(|| "NEW\n".to_owned())).unwrap();
        assert_eq!(again, filled, "writing twice is writing once");
        assert_eq!(put("no markers", |_| None).unwrap().0, "no markers");
    }

    #[test]
    fn markers_without_a_counterpart_are_named() {
        let bad = [
            ("one\n<!-- results: a -->\nx\n", "line 2: <!-- results: a --> without <!-- end -->"),
            ("<!-- end -->\n", "line 1: <!-- end --> without a beginning"),
            (
                "<!-- results: a -->\n<!-- results: b -->\n<!-- end -->\n",
                "line 1: <!-- results: a --> without <!-- end -->",
            ),
        ];
        for (text, expected) in bad {
            let error = put(text, |_| Some(String::new())).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn a_file_with_a_bad_marker_is_not_touched() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("experiments.md");
        fs::write(&file, "<!-- results: a -->\n").unwrap();
        let error = format!("{:#}", fill(&file, &[], None).unwrap_err());
        assert!(error.contains("experiments.md: line 1"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "<!-- results: a -->\n");
    }

    #[test]
    fn tables_of_an_experiment() {
        insta::assert_snapshot!(tables(&delays().results));
    }

    #[test]
    fn nothing_in_a_cell_is_markup() {
        assert_eq!(escaped("a|b\n<i>`*_"), "a\\|b &lt;i&gt;\\`\\*\\_");
    }
}
