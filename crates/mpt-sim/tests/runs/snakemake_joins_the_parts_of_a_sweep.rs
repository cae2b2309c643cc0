//! The parts of a sweep that `sweep.smk` runs give the same results as one sweep.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const SIMULATOR: &str = env!("CARGO_BIN_EXE_mpt-sim");

const PLAN: &str = r#"
profiles = ["rfc"]
treatments = ["none", "rack-tlp"]
controls = ["reno", "lia"]
differences-ms = [0, 200]
seeds = 1
packets = 200
"#;

fn snakemake(directory: &Path, arguments: &[&str]) -> String {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/snakemake");
    let output = Command::new("snakemake")
        .args(["--cores", "2", "--snakefile"])
        .arg(packaging.join("sweep.smk"))
        .args(arguments)
        .args(["--config", "plan=plan.toml", "out=out", "parts=3"])
        .arg(format!("sim={SIMULATOR}"))
        .current_dir(directory)
        // It keeps a cache below the home directory.
        .env("HOME", directory)
        .output()
        .expect("snakemake: scripts/setup test installs it");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

fn lines(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap();
    let lines: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), text.lines().count(), "no run is there twice");
    lines
}

#[test]
fn snakemake_joins_the_parts_of_a_sweep() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    fs::write(directory.join("plan.toml"), PLAN).unwrap();
    let whole = directory.join("whole.jsonl");
    let sweep = Command::new(SIMULATOR)
        .args(["sweep", "plan.toml", "--out", "whole.jsonl"])
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(sweep.status.success(), "{}", String::from_utf8_lossy(&sweep.stderr));
    assert_eq!(lines(&whole).len(), 8);

    let planned = snakemake(directory, &["--dry-run"]);
    assert_eq!(planned.matches("rule part:").count(), 3, "{planned}");
    assert!(!directory.join("out").exists(), "a dry run simulates nothing");

    snakemake(directory, &[]);
    assert_eq!(lines(&directory.join("out/results.jsonl")), lines(&whole));
    assert!(snakemake(directory, &["--dry-run"]).contains("Nothing to be done"));
}
