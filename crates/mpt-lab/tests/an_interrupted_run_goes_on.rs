//! An interrupted run reports what it has, leaves nothing behind, and goes on where it stopped.

mod common;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use common::interrupted::children;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Two measurements of two seconds.
const EXPERIMENT: &str = r#"
title = "A slow link"
rows = ["path1", "ours"]
[[link]]
rate = "5mbit"
queue = "100ms"
[traffic]
kind = "tcp"
duration = "2s"
"#;

fn results(directory: &Path) -> usize {
    let Ok(entries) = fs::read_dir(directory.join("out/cases")) else { return 0 };
    let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    files.filter(|file| file.ends_with(".json")).count()
}

#[test]
fn an_interrupted_run_goes_on() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path();
    fs::write(directory.join("tiny.toml"), EXPERIMENT).unwrap();
    let run = || {
        let mut command = common::laboratory_command();
        command.args(["run", "tiny.toml", "--out", "out"]).current_dir(directory);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };

    let child = run();
    let pid = child.id();
    let start = Instant::now();
    // The first measurement is made, the second one runs.
    while results(directory) < 1 || children(pid).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "no measurement is ever made");
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_secs(1));
    let measuring = children(pid);
    kill(Pid::from_raw(pid as i32), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert!(errors.contains("goes on where it stopped"), "{errors}");
    assert_eq!(results(directory), 1);
    assert!(directory.join("out/report.html").is_file(), "what there is was not reported");
    assert!(!measuring.is_empty());
    for process in measuring {
        assert!(!Path::new(&format!("/proc/{process}")).exists(), "process {process} is left");
        assert_eq!(common::namespaces(process), [""; 0]);
    }

    let output = run().wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("2 measurements, 1 of them still to be made"), "{errors}");
    assert_eq!(results(directory), 2);
}
