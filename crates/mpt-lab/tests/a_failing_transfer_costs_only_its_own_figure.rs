//! A run of iperf3 that fails is made again, and the benchmark says so. One that never succeeds costs its own figure and the exit status,
//! not what else is measured.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Stands for iperf3. The first UDP transfer fails and four parallel flows always do; the other transfers are made up.
const IPERF3: &str = r#"#!/bin/sh
case " $* " in
*" -s "*) exec REAL "$@" ;;
*" -P 4 "*) echo '{"error": "four flows are too many"}'; exit 1 ;;
*" -u "*)
    if [ ! -e "$0.failed" ]; then
        touch "$0.failed"
        echo '{"error": "the server did not answer"}'
        exit 1
    fi
    echo '{"end": {"sum": {"start": 0, "end": 1, "seconds": 1, "bytes": 64000, "packets": 1000, "lost_packets": 0}}}'
    ;;
*) echo '{"end": {"sum_received": {"start": 0, "end": 1, "seconds": 1, "bytes": 1000000000}}}' ;;
esac
"#;

/// Puts the program above into `directory`.
fn install(directory: &Path) {
    let real = Command::new("sh").args(["-c", "command -v iperf3"]).output().unwrap();
    let real = String::from_utf8(real.stdout).unwrap();
    let program = directory.join("iperf3");
    fs::write(&program, IPERF3.replace("REAL", real.trim())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_failing_transfer_costs_only_its_own_figure() {
    let scratch = tempfile::tempdir().unwrap();
    install(scratch.path());
    let path = format!("{}:{}", scratch.path().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpt-lab"));
    // These stages have no daemon.
    command.args(["bench", "--quick", "--rounds", "1", "--only", "veth", "--mptd", "/bin/true"]);
    command.arg("--target").arg(scratch.path()).env("PATH", path);
    let output = command.output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);

    let file = scratch.path().join("bench/samples.json");
    let record = fs::read_to_string(file).unwrap_or_else(|error| panic!("{error}\n{errors}"));
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let samples = &record["samples"];
    assert_eq!(samples["veth/tcp-1/rate"][0], 8.0, "{errors}");
    assert_eq!(samples["veth/udp-64/rate"][0], 1.0, "the repetition counts: {errors}");
    assert_eq!(samples["veth-no-tso/tcp-1/rate"][0], 8.0, "a later stage is measured: {errors}");
    assert!(samples["veth/tcp-4/rate"].is_null(), "{samples}");

    let what = |entry: &serde_json::Value| (entry["round"].clone(), entry["what"].clone());
    let repeated: Vec<_> = record["repeated"].as_array().unwrap().iter().map(what).collect();
    let at = |name: &str| (1.into(), name.into());
    assert_eq!(repeated, [at("veth/tcp-4"), at("veth/tcp-4"), at("veth/udp-64")]);
    let failed: Vec<_> = record["failed"].as_array().unwrap().iter().map(what).collect();
    assert_eq!(failed, [at("veth/tcp-4")]);

    assert!(shown.contains("3 runs failed and were repeated"), "{shown}");
    assert!(shown.contains("the server did not answer"), "{shown}");
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("veth/tcp-4: iperf3 to 10.71.1.2: four flows are too many"),
        "{errors}"
    );
}
