//! The Snakefile makes the measurements of a plan, one process and one file each, and their report.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Two measurements of a second.
const EXPERIMENT: &str = r#"
title = "One slow link"
rows = ["path1"]
[[axis]]
name = "rate"
label = "rate"
values = ["5mbit", "10mbit"]
[[link]]
rate = "$rate"
queue = "100ms"
[traffic]
kind = "tcp"
duration = "1s"
"#;

fn snakemake(directory: &Path, arguments: &[&str]) -> (bool, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut lab = std::ffi::OsString::from("lab=");
    lab.push(common::laboratory());
    let output = Command::new("snakemake")
        .args(["--cores", "1", "--snakefile"])
        .arg(root.join("packaging/snakemake/Snakefile"))
        .args(arguments)
        .args(["--config", "out=out"])
        .arg(lab)
        .current_dir(directory)
        // It keeps a cache below the home directory.
        .env("HOME", directory)
        .output()
        .expect("snakemake: scripts/setup test installs it");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

fn results(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.join("out/cases")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn snakemake_makes_the_same_measurements() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    fs::write(directory.join("tiny.toml"), EXPERIMENT).unwrap();
    let plan = common::laboratory_command()
        .args(["plan", "tiny.toml", "--out", "out"])
        .current_dir(directory)
        .output();
    assert!(plan.unwrap().status.success());

    let (planned, text) = snakemake(directory, &["--dry-run"]);
    assert!(planned, "{text}");
    assert_eq!(text.matches("rule case:").count(), 2, "{text}");
    assert!(results(directory).is_empty(), "a dry run measures nothing");

    let (made, text) = snakemake(directory, &[]);
    assert!(made, "{text}");
    let results = results(directory);
    assert_eq!(results.len(), 2, "{results:?}");
    for path in &results {
        let case: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let rate = case["spec"]["network"]["channels"][0]["params"]["rate"].as_f64().unwrap() / 1e6;
        let goodput = case["metrics"]["goodput_mbit"].as_f64().unwrap();
        assert!(goodput > 0.6 * rate && goodput < rate, "{goodput} of {rate} Mbit/s");
    }
    assert!(directory.join("out/report.html").is_file());

    let (nothing, text) = snakemake(directory, &["--dry-run"]);
    assert!(nothing && text.contains("Nothing to be done"), "{text}");
}
