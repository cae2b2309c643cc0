//! `mpt-lab demo` succeeds, says so in a table, and removes what it made.

mod common;

use std::process::Stdio;

#[test]
fn demo_carries_the_sum_of_both_paths() {
    let scratch = tempfile::tempdir().unwrap();
    let mut command = common::demo();
    command.env("TMPDIR", scratch.path());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    let (table, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));

    assert!(output.status.success(), "{}\n{table}\n{errors}", output.status);
    let last = "See it live: make demo LAB=--live";
    for line in ["path 1 alone", "path 2 alone", "tunnel over both", "efficiency", last] {
        assert!(table.contains(line), "no {line:?} in\n{table}");
    }
    assert_eq!(common::namespaces(pid), [""; 0]);
    assert_eq!(scratch.path().read_dir().unwrap().count(), 0, "files are left");
}
