//! The threat model of `docs/security.md`, section 3, names for each row the tests that show its effect, and each of them exists.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The rows of the table, each with its cells.
fn rows(document: &str) -> Vec<Vec<&str>> {
    let (_, section) = document.split_once("\n## 3. Threat model\n").expect("section 3");
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

#[test]
fn and_it_exists() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security.md");
    let document = fs::read_to_string(document).unwrap();
    let rows = rows(&document);
    let (head, rows) = (&rows[0], &rows[2..]);
    assert_eq!(head[..], ["attacker", "action", "what happens", "counter", "test"]);
    assert!(rows.len() >= 25, "{} rows", rows.len());
    let tests = tests();
    let mut wrong = Vec::new();
    for row in rows {
        let [attacker, action, _, _, named] = row[..] else {
            panic!("a row of 5 cells: {row:?}");
        };
        let named: Vec<_> = named.split(", ").map(|name| name.trim_matches('`')).collect();
        let exists = |name: &&str| {
            let found = name.split_once("::").and_then(|(file, function)| {
                tests.get(file)?.iter().find(|test| *test == function)
            });
            found.is_some()
        };
        wrong.extend(
            named
                .iter()
                .filter(|name| !exists(name))
                .map(|name| format!("{attacker}, {action}: {name:?}")),
        );
    }
    assert!(
        wrong.is_empty(),
        "rows of docs/security.md, section 3, whose test does not exist: {wrong:#?}"
    );
}
