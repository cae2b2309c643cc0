//! An experiment runs from its file to its report, goes on where it stopped, and is refused before anything is created.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::SystemTime;

/// Two measurements of a second or two.
const EXPERIMENT: &str = r#"
title = "Two slow links"
source = "nobody2025, Table 0"
rows = ["path1", "ours"]
[[link]]
count = 2
rate = "10mbit"
queue = "100ms"
delay = "1ms"
[traffic]
kind = "tcp"
duration = "2s"
[[published]]
row = "ours"
value = 18.5
[[expectation]]
what = "more than one path"
row = "ours"
over = ["path1"]
at_least = 1.5
"#;

fn laboratory(directory: &Path, arguments: &[&str]) -> Output {
    common::laboratory_command().args(arguments).current_dir(directory).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn an_experiment_is_laid_beside_the_paper() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    fs::write(directory.join("tiny.toml"), EXPERIMENT).unwrap();

    let first = laboratory(directory, &["run", "tiny.toml", "--out", "out"]);
    let errors = text(&first.stderr);
    assert!(first.status.success(), "{}\n{errors}", first.status);
    assert!(errors.contains("2 measurements, 2 of them still to be made: about"), "{errors}");
    let cases: Vec<_> = fs::read_dir(directory.join("out/cases")).unwrap().collect();
    assert_eq!(cases.len(), 2);
    for file in ["report.html", "tiny/plan.json", "tiny/results.json"] {
        assert!(directory.join("out").join(file).is_file(), "no {file}");
    }
    let plan: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.join("out/tiny/plan.json")).unwrap()).unwrap();
    assert_eq!(plan["published"][0]["value"], 18.5);
    // It is a tunnel over two links that was measured: more than one of them carries, less than both.
    let goodput = |row: &str| {
        let mut found = fs::read_dir(directory.join("out/cases")).unwrap().map(|entry| {
            let json = fs::read(entry.unwrap().path()).unwrap();
            serde_json::from_slice::<serde_json::Value>(&json).unwrap()
        });
        let case = found.find(|case| case["spec"]["method"]["kind"] == row).unwrap();
        case["metrics"]["goodput_mbit"].as_f64().unwrap()
    };
    let (plain, tunnel) = (goodput("plain"), goodput("tunnel"));
    assert!(plain > 7.0 && plain < 10.0, "{plain} of 10 Mbit/s");
    assert!(tunnel > 1.5 * plain && tunnel < 20.0, "{tunnel} of 20 Mbit/s");

    // A case whose results are there is not measured again.
    let measured = |directory: &Path| -> Vec<SystemTime> {
        let entries = fs::read_dir(directory.join("out/cases")).unwrap();
        entries.map(|entry| entry.unwrap().metadata().unwrap().modified().unwrap()).collect()
    };
    let before = measured(directory);
    let second = laboratory(directory, &["run", "tiny.toml", "--out", "out"]);
    assert!(second.status.success(), "{}", text(&second.stderr));
    assert!(text(&second.stderr).contains("2 measurements, 0 of them"), "{}", text(&second.stderr));
    assert_eq!(measured(directory), before);
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_is_created() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    fs::write(directory.join("bad.toml"), EXPERIMENT.replace("10mbit", "10")).unwrap();
    for (arguments, expected) in [
        (
            ["run", "bad.toml"],
            "bad.toml:7: link.rate: \"10\" has no unit; write for example \"10mbit\"",
        ),
        (
            ["run", "imareen2023-table9"],
            "there is no experiment \"imareen2023-table9\"; `mpt-lab list` names all",
        ),
        (["run", "missing.toml"], "missing.toml"),
    ] {
        let output = laboratory(directory, &arguments);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains(expected), "{errors}");
    }
    let files: Vec<_> = fs::read_dir(directory).unwrap().collect();
    assert_eq!(files.len(), 1, "only the file that was there");
}

#[test]
fn a_new_experiment_begins_as_another_one() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    let new = laboratory(directory, &["new", "mine", "--from", "imareen2023-table4"]);
    assert!(new.status.success(), "{}", text(&new.stderr));
    let again = laboratory(directory, &["new", "mine"]);
    assert!(!again.status.success(), "it must not write over a file");
    let plan = laboratory(
        directory,
        &["plan", "mine.toml", "--quick", "--set", "loss=2%", "--out", "out"],
    );
    assert!(plan.status.success(), "{}", text(&plan.stderr));
    let specs = fs::read_dir(directory.join("out/specs")).unwrap().count();
    assert_eq!(specs, 7, "one for each row");
}
