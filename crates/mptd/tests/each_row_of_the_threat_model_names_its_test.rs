//! The threat model and the limits of `docs/security.md`, sections 3 and 4, name for each row the tests that show its effect, and each of them exists.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The rows of the table of a section, each with its cells.
fn rows<'a>(document: &'a str, section: &str) -> Vec<Vec<&'a str>> {
    let (_, section) = document.split_once(&format!("\n## {section}\n")).expect("the section");
    let section = section.split("\n## ").next().expect("split yields something");
    let table = section.lines().filter(|line| line.starts_with('|'));
    table.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// Names of the functions marked as tests in each file of tests, by the name of the file.
fn tests() -> BTreeMap<String, Vec<String>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut tests = BTreeMap::<String, Vec<String>>::new();
    let mut directories: Vec<PathBuf> =
        fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()).collect();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                tests
                    .entry(name)
                    .or_default()
                    .extend(functions(&fs::read_to_string(path).unwrap()));
            }
        }
    }
    tests
}

/// Names of the functions that `#[test]` stands above. Those within `proptest!` count as well.
fn functions(source: &str) -> Vec<String> {
    let parts = source.split("#[test]").flat_map(|part| part.split("#[tokio::test]"));
    let name = |part: &str| {
        let (_, rest) = part.split_once("fn ")?;
        Some(rest.split(['(', '<']).next()?.to_owned())
    };
    parts.filter_map(name).collect()
}

/// Panics unless the table of a section has this head and `least` rows, whose last cells name tests that exist.
fn check(section: &str, expected: &[&str], least: usize) {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security.md");
    let document = fs::read_to_string(document).unwrap();
    let rows = rows(&document, section);
    let (head, rows) = (&rows[0], &rows[2..]);
    assert_eq!(head, expected);
    assert!(rows.len() >= least, "{} rows", rows.len());
    let tests = tests();
    let mut wrong = Vec::new();
    for row in rows {
        assert_eq!(row.len(), expected.len(), "cells of {row:?}");
        let (named, what) = row.split_last().expect("it has cells");
        let named: Vec<_> = named.split(", ").map(|name| name.trim_matches('`')).collect();
        let exists = |name: &&str| {
            let found = name.split_once("::").and_then(|(file, function)| {
                tests.get(file)?.iter().find(|test| *test == function)
            });
            found.is_some()
        };
        let missing = named.iter().filter(|name| !exists(name));
        wrong.extend(missing.map(|name| format!("{}: {name:?}", what[..2].join(", "))));
    }
    assert!(
        wrong.is_empty(),
        "rows of docs/security.md, section {section}, whose test does not exist: {wrong:#?}"
    );
}

#[test]
fn and_it_exists() {
    check("3. Threat model", &["attacker", "action", "what happens", "counter", "test"], 25);
}

#[test]
fn and_so_does_each_limit() {
    check("4. Limits", &["what", "bound", "test"], 20);
}
