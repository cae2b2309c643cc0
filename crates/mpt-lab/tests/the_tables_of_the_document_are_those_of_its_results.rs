//! The tables of `docs/performance.md` are what `mpt-lab performance` makes of the results in `docs/performance/`, and no figure
//! stands in its text without saying that it was measured by hand, and when.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Units of what is measured; limits and sizes that the programs define are written without them, or in generated tables.
const UNITS: [&str; 12] =
    ["Gbit/s", "Mbit/s", "packets/s", "kpps", "s/GB", "ns", "us", "ms", "MB", "KB", "%", "times"];
/// Stands in each section with figures that no command repeats, before a date.
const BY_HAND: &str = "y hand, 20";

fn documents() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The document and its results, in a directory of their own.
fn copied() -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    fs::copy(documents().join("performance.md"), copy.path().join("performance.md")).unwrap();
    fs::create_dir(copy.path().join("performance")).unwrap();
    for entry in fs::read_dir(documents().join("performance")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join("performance").join(entry.file_name())).unwrap();
    }
    copy
}

/// Writes the tables anew.
fn generate(copy: &TempDir) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpt-lab"));
    let command = command.arg("performance").arg(copy.path().join("performance.md"));
    command.output().expect("the laboratory starts")
}

fn text(copy: &TempDir) -> String {
    fs::read_to_string(copy.path().join("performance.md")).unwrap()
}

#[test]
fn nobody_has_edited_a_table() {
    let copy = copied();
    let before = text(&copy);
    let output = generate(&copy);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (number, (ours, generated)) in before.lines().zip(text(&copy).lines()).enumerate() {
        assert_eq!(
            ours,
            generated,
            "docs/performance.md:{}: run mpt-lab performance docs/performance.md",
            number + 1
        );
    }
    assert_eq!(before, text(&copy));
}

#[test]
fn an_edited_figure_is_replaced() {
    let copy = copied();
    let genuine = text(&copy);
    let line = genuine.lines().find(|line| line.starts_with("| memory, idle")).unwrap();
    let edited = genuine.replace(line, "| memory, idle, two paths, window 10,000 | 0.1 | MB |");
    assert_ne!(edited, genuine);
    fs::write(copy.path().join("performance.md"), edited).unwrap();
    assert!(generate(&copy).status.success());
    assert_eq!(text(&copy), genuine);
}

#[test]
fn a_table_without_results_is_an_error() {
    let copy = copied();
    fs::remove_file(copy.path().join("performance/bench.json")).unwrap();
    let output = generate(&copy);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("targets, measured, criterion"), "{error}");
}

/// The text that people write: sections with the number of their first line.
fn sections(document: &str) -> Vec<(usize, String)> {
    let (mut sections, mut generated) = (vec![(1, String::new())], false);
    for (number, line) in document.lines().enumerate() {
        match line.trim() {
            "<!-- end -->" => generated = false,
            line if line.starts_with("<!-- results: ") => generated = true,
            _ if generated => {}
            _ => {
                if line.starts_with("## ") {
                    sections.push((number + 1, String::new()));
                }
                let section = &mut sections.last_mut().unwrap().1;
                section.push_str(line);
                section.push('\n');
            }
        }
    }
    sections
}

/// Numbers with a unit, such as `0.15 ms`.
fn figures(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number =
        |word: &str| word.trim_start_matches('(').starts_with(|it: char| it.is_ascii_digit());
    let unit = |word: &str| UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']));
    let pairs = words.windows(2).filter(|pair| number(pair[0]) && unit(pair[1]));
    pairs.map(|pair| pair.join(" ")).collect()
}

#[test]
fn a_figure_in_the_text_says_when_it_was_measured_by_hand() {
    let document = fs::read_to_string(documents().join("performance.md")).unwrap();
    for (line, section) in sections(&document) {
        let figures = figures(&section);
        assert!(
            figures.is_empty() || section.contains(BY_HAND),
            "docs/performance.md:{line}: measured, but not said when: {}",
            figures.join(", ")
        );
    }
    assert_eq!(
        figures("it takes 0.15 ms, (8.7 Gbit/s) 60 clients, 5 percent"),
        ["0.15 ms,", "(8.7 Gbit/s)"]
    );
}
