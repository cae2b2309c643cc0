//! `mpt-lab report` and `mpt-lab compare` need results and nothing else, and name the file that is not what it should be.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;
use tempfile::TempDir;

/// Runs the laboratory as nobody would need root for it.
fn laboratory(arguments: &[&str], directories: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpt-lab"));
    command.args(arguments).args(directories).output().expect("the laboratory starts")
}

/// A directory with an experiment of which nothing was measured.
fn planned() -> TempDir {
    let out = tempfile::tempdir().unwrap();
    let plan = json!({
        "name": "example", "title": "An <example>", "source": "", "about": "", "axes": [],
        "rows": [{ "name": "ours", "label": "ours" }], "metric": "goodput_mbit", "also": [],
        "plots": [], "cases": [], "published": [], "expectations": [],
    });
    fs::create_dir(out.path().join("example")).unwrap();
    fs::write(out.path().join("example/plan.json"), plan.to_string()).unwrap();
    out
}

fn error_of(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!error.contains("panicked"), "{error}");
    error
}

#[test]
fn a_report_is_written() {
    let out = planned();
    let docs = out.path().join("experiments.md");
    fs::write(&docs, "before\n<!-- results: example -->\nold\n<!-- end -->\nafter\n").unwrap();
    let docs_option = format!("--docs={}", docs.display());
    let output = laboratory(&["report", &docs_option], &[out.path()]);
    assert!(output.status.success(), "{}", error_of(&output));
    for file in ["results.json", "cases.csv", "series.csv"] {
        assert!(out.path().join("example").join(file).exists(), "{file} is missing");
    }
    let page = fs::read_to_string(out.path().join("report.html")).unwrap();
    assert!(page.contains("An &lt;example&gt;"));
    let docs = fs::read_to_string(docs).unwrap();
    assert!(docs.starts_with("before\n<!-- results: example -->\n\nMeasured "), "{docs}");
    assert!(docs.ends_with("\n<!-- end -->\nafter\n") && !docs.contains("old"), "{docs}");
}

#[test]
fn a_garbled_directory_is_an_error_that_names_the_file() {
    let out = planned();
    fs::write(out.path().join("example/plan.json"), "{\"name\": \"exam").unwrap();
    let output = laboratory(&["report"], &[out.path()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(error_of(&output).contains("example/plan.json"), "{}", error_of(&output));
    let empty = tempfile::tempdir().unwrap();
    let output = laboratory(&["report"], &[empty.path()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(error_of(&output).contains("no results of an experiment"), "{}", error_of(&output));
}

#[test]
fn what_cannot_be_compared_is_told_from_what_differs() {
    let (one, other) = (planned(), planned());
    let output = laboratory(&["compare"], &[one.path(), other.path()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(error_of(&output).contains("no measurement in common"), "{}", error_of(&output));
    let output = laboratory(&["compare"], &[one.path(), Path::new("/nonexistent")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(error_of(&output).contains("/nonexistent"), "{}", error_of(&output));
}
