//! `mpt status` against a daemon that plays a part: its exit codes, its JSON, and when it is coloured.

use std::process::{Command, Stdio};

use mpt_api::snapshot::PathState;
use mpt_api::{Code, ConnectionState, Reply, Snapshot};
use serde_json::Value;

use crate::example::snapshot;
use crate::fake::{FakeDaemon, Outcome, mpt};

fn reply(state: ConnectionState) -> Reply {
    let mut snapshot = snapshot();
    for connection in &mut snapshot.connections {
        connection.state = state;
    }
    Reply::Snapshot(Box::new(snapshot))
}

/// A snapshot without anything wrong.
fn healthy() -> Snapshot {
    let mut snapshot = snapshot();
    for connection in &mut snapshot.connections {
        connection.state = ConnectionState::Up;
        for path in &mut connection.paths {
            (path.state, path.down) = (PathState::Up, None);
        }
    }
    snapshot
}

#[test]
fn the_exit_code_tells_the_state_and_nothing_else_is_said() {
    for (state, word, code) in [
        (ConnectionState::Up, "up", 0),
        (ConnectionState::Degraded, "degraded", 5),
        (ConnectionState::Down, "down", 6),
    ] {
        for args in [&["status"][..], &["status", "--json"]] {
            let (asked, outcome) = FakeDaemon::replying(reply(state)).run(args);
            assert_eq!(asked, mpt_api::Command::Show);
            assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(code), ""), "{state}");
            assert!(outcome.stdout.contains(word), "{}", outcome.stdout);
        }
    }
}

#[test]
fn one_connection_can_be_asked_for() {
    let one = FakeDaemon::replying(Reply::Snapshot(Box::new(healthy())));
    let (asked, outcome) = one.run(&["status", "office"]);
    assert_eq!(asked, mpt_api::Command::ShowConnection { connection: "office".into() });
    assert_eq!(outcome.code, Some(0));
    let none = FakeDaemon::refusing(Code::NotFound, "no connection \"home\"");
    let outcome = none.run(&["status", "home", "--json"]).1;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""));
    assert_eq!(outcome.stderr, "mpt: no connection \"home\"\n");
}

#[test]
fn json_has_everything_that_the_screen_has() {
    let outcome = FakeDaemon::replying(reply(ConnectionState::Degraded)).run(&["status", "--json"]);
    let json: Value = serde_json::from_str(&outcome.1.stdout).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&json["connections"][0]).unwrap());
    assert_eq!(json["state"], "degraded");
    assert_eq!(json["daemon"]["pid"], 17);
}

#[test]
fn a_daemon_that_is_away_is_a_state_too() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("mptd.sock");
    let run = |args: &[&str]| -> Outcome {
        mpt().arg("--socket").arg(&socket).args(args).output().unwrap().into()
    };
    let json = run(&["status", "--json"]);
    assert_eq!((json.code, json.stderr.as_str()), (Some(3), ""));
    let value: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&value["state"], &value["daemon"]), (&"unreachable".into(), &Value::Null));
    assert!(value["problems"][0].as_str().unwrap().contains("cannot reach mptd"), "{value}");
    let text = run(&["status"]);
    assert_eq!((text.code, text.stdout.as_str()), (Some(3), ""));
    assert!(text.stderr.contains("cannot reach mptd"), "{}", text.stderr);
}

/// Returns the output of `mpt status` on a terminal of `columns` columns, 0 for one that does not know its width.
fn on_a_terminal(columns: u16, environment: &[(&str, &str)]) -> String {
    let daemon = FakeDaemon::replying(Reply::Snapshot(Box::new(healthy())));
    let mpt = env!("CARGO_BIN_EXE_mpt");
    let socket = daemon.socket.display();
    let script = format!("stty cols {columns} rows 50; exec {mpt} --socket {socket} status");
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &script, "/dev/null"]);
    // These variables of the environment change the colours; continuous integration sets CI, which forces them.
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(variable);
    }
    command.env("TERM", "xterm").envs(environment.iter().copied());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn colours_are_for_terminals_only_and_for_those_who_want_them() {
    assert!(on_a_terminal(80, &[]).contains("\x1b[32mup"));
    assert!(!on_a_terminal(80, &[("NO_COLOR", "1")]).contains('\x1b'));
    assert!(!on_a_terminal(80, &[("TERM", "dumb")]).contains('\x1b'));
    let piped = FakeDaemon::replying(Reply::Snapshot(Box::new(healthy()))).run(&["status"]).1;
    assert!(!piped.stdout.contains('\x1b'), "{}", piped.stdout);
}

#[test]
fn the_screen_is_as_wide_as_the_terminal() {
    for (columns, widest) in [(20, 20), (40, 40), (0, 80), (200, 200)] {
        let screen = on_a_terminal(columns, &[("NO_COLOR", "1")]);
        for line in screen.lines() {
            assert!(line.chars().count() <= widest, "{columns}: {line}");
        }
        assert_eq!(screen.contains("UPLINK"), widest >= 80, "{columns}: {screen}");
    }
}
