//! `mpt-lab failover`, shortened and with wide limits: the tunnel goes on without a path that breaks, and with it when it is back.

mod common;

use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

/// One at a time: what is measured are times, on a machine with few processors.
static ALONE: Mutex<()> = Mutex::new(());

/// Lets each of these events happen so often, and expects a table in which nothing is missed.
fn goes_on(repetitions: u32, events: &[&str], more: &[&str]) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("failover.json");
    let mut command = common::failover(more);
    command.args(["--repeat", &repetitions.to_string()]).arg("--json").arg(&file);
    for event in events {
        command.args(["--only", event]);
    }
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    let (table, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));

    assert!(output.status.success(), "{}\n{table}\n{errors}", output.status);
    let file: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let happened: Vec<_> =
        file["events"].as_array().unwrap().iter().map(|event| &event["name"]).collect();
    assert_eq!(happened, events, "{table}");
    for event in file["events"].as_array().unwrap() {
        for figure in event["figures"].as_array().unwrap() {
            assert_eq!(figure["values"].as_array().unwrap().len(), repetitions as usize);
        }
    }
    assert_eq!(common::namespaces(pid), [""; 0]);
}

#[test]
fn when_only_carrier_and_administrator_decide() {
    goes_on(2, &["carrier", "planned"], &["--static"]);
}

#[test]
fn when_a_session_notices_what_no_carrier_tells() {
    goes_on(2, &["black-hole", "one-way-data", "dead-at-start"], &[]);
}

#[test]
fn when_a_session_outlives_addresses_and_daemons() {
    goes_on(1, &["planned", "nat-rebinding", "address-change", "restart-killed"], &[]);
}
