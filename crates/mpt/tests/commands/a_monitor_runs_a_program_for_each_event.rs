//! `mpt monitor --exec` gives each event to a program, one after the other.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use mpt_api::{Event, EventKind, Reply, Response, to_line};

use crate::fake::FakeDaemon;

/// A script in a directory of its own.
fn script(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("hook");
    fs::write(&file, format!("#!/bin/sh\ncd {}\n{text}\n", directory.path().display())).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    (directory, file)
}

fn events(count: u32) -> Vec<Event> {
    (0..count)
        .map(|changes| Event { time_ms: 1_760_000_000_123, kind: EventKind::Reloaded { changes } })
        .collect()
}

/// A daemon that tells of these events and goes away.
fn telling(events: &[Event]) -> FakeDaemon {
    let lines = events.iter().map(|event| to_line(&Response::event(event.clone())));
    FakeDaemon::answering(
        to_line(&Response::result(Reply::Monitoring)) + &lines.collect::<String>(),
    )
}

#[test]
fn with_the_event_on_its_standard_input() {
    let (directory, file) = script("cat >>seen");
    let outcome = telling(&events(20)).run(&["monitor", "--exec", file.to_str().unwrap()]).1;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(3), ""));
    let seen = fs::read_to_string(directory.path().join("seen")).unwrap();
    let seen: Vec<Event> = seen.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(seen, events(20));
}

#[test]
fn one_that_fails_or_does_not_read_does_not_end_the_monitor() {
    let (directory, file) = script("echo again >>seen; exit 7");
    let outcome = telling(&events(3)).run(&["monitor", "--exec", file.to_str().unwrap()]).1;
    assert_eq!(fs::read_to_string(directory.path().join("seen")).unwrap(), "again\n".repeat(3));
    let said = format!("mpt: {}: exit status: 7\n", file.display());
    assert_eq!(outcome.stderr.matches(&said).count(), 3, "{}", outcome.stderr);
}

#[test]
fn one_that_is_not_there_is_an_error() {
    let outcome = telling(&events(3)).run(&["monitor", "--exec", "/no/program"]).1;
    assert_eq!(outcome.code, Some(1));
    let expected = "mpt: /no/program: cannot be run: No such file or directory (os error 2)\n";
    assert_eq!(outcome.stderr, expected);
}
