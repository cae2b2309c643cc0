//! A controller elsewhere is told what happens, as soon as it happens, also after the daemon was started again.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command as Process, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mpt_api::{Command, DownReason, Event, EventKind, PathChange, PathState, Reply};
use mpt_client::{Error, Remote, Target};

use crate::hosts::{Daemon, Identity, PATIENCE, Pair, wait_for};
use crate::support::authenticate;

fn target(daemon: &Identity, own: &Identity, name: &str) -> Target {
    Target {
        address: "10.71.1.2:4754".parse().unwrap(),
        peer: daemon.public_key(),
        identity: own.private.clone(),
        psk: None,
        name: name.into(),
    }
}

/// Two ends, of which `b` has a controller with the usual rights.
fn with_controller(pair: &Pair, controller: &Identity) -> ([Daemon; 2], [Identity; 2]) {
    let mut configs = pair.configs();
    let identities = authenticate(&mut configs);
    configs[1].controller("noc").set("public_key", controller.public());
    (pair.start(&configs), identities)
}

/// Returns true if the event says that the path `line2` has this state.
fn says(event: &EventKind, wanted: PathState) -> bool {
    matches!(event, EventKind::PathChanged { path, state, .. } if path == "line2" && *state == wanted)
}

#[test]
fn each_event_comes_at_once_and_none_is_left_out() {
    let pair = Pair::with_lines(2);
    let controller = Identity::new();
    let ([_a, mut b], identities) = with_controller(&pair, &controller);
    let mut remote =
        pair.a.run(|| Remote::connect(target(&identities[1], &controller, "one"))).unwrap();
    assert_eq!(remote.call(Command::Monitor), Ok(Reply::Monitoring));
    let set = |b: &Daemon, up| {
        b.set_path("tunnel", "line2", PathChange { up: Some(up), ..Default::default() });
    };
    let mut next = |wanted: PathState| {
        let start = Instant::now();
        while !says(&remote.event().unwrap().kind, wanted) {}
        start.elapsed()
    };
    for up in [false, true, false, true] {
        let state = if up { PathState::Up } else { PathState::Down };
        let took = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(300));
                set(&b, up);
            });
            next(state)
        });
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
    // Nobody listens, and nothing is lost.
    set(&b, false);
    set(&b, true);
    thread::sleep(Duration::from_millis(500));
    next(PathState::Down);
    next(PathState::Up);
    // A question beside them is answered.
    assert!(matches!(remote.call(Command::Show), Ok(Reply::Snapshot(_))));

    b.signal(nix::sys::signal::Signal::SIGTERM);
    b.wait_until_ended();
    let lost = wait_for("the loss is noticed", || remote.event().err());
    assert!(matches!(lost, Error::Unreachable(_)), "{lost}");
    b.start_again(&pair.b);
    b.wait_until_up();
    let again = pair.a.run(|| {
        let start = Instant::now();
        loop {
            match remote.event() {
                Ok(event) => break event.kind,
                Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
            }
        }
    });
    assert!(!matches!(again, EventKind::Missed { .. }), "{again:?}");
}

/// Others of the same key have their turn while many wait.
#[test]
fn many_who_wait_keep_nobody_out() {
    let pair = Pair::with_lines(2);
    let controller = Identity::new();
    let ([_a, _b], identities) = with_controller(&pair, &controller);
    let connect = |name: &str| {
        pair.a.run(|| Remote::connect(target(&identities[1], &controller, name))).unwrap()
    };
    let mut waiting: Vec<_> = ["1", "2", "3", "4", "5"].map(connect).into();
    for remote in &mut waiting {
        assert_eq!(remote.call(Command::Monitor), Ok(Reply::Monitoring));
    }
    let mut other = connect("other");
    thread::scope(|scope| {
        for remote in &mut waiting {
            scope.spawn(move || {
                let after = Some(u64::MAX >> 12);
                let _ = remote
                    .call_within(Command::Events { after, wait_ms: 2000 }, Duration::from_secs(5));
            });
        }
        thread::sleep(Duration::from_millis(300));
        let start = Instant::now();
        assert!(matches!(other.call(Command::Show), Ok(Reply::Snapshot(_))));
        assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
    });
}

/// Returns the command line at host `a`, which has only the controller's key, as it monitors the daemon at host `b`.
fn monitor(pair: &Pair, controller: &Identity, daemon: &Identity) -> Process {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_mptd")).with_file_name("mpt");
    assert!(program.exists(), "{} is missing: cargo build -p mpt", program.display());
    let mut command: Process = pair.a.namespace.command(program).unwrap();
    command.args(["--remote", "10.71.1.2", "--key", &controller.file()]);
    command.args(["--peer", &daemon.public(), "monitor"]);
    command.stdin(Stdio::null());
    command
}

/// Takes a path out of service and back again and again, until the monitor listens and this is so.
fn change_until(daemon: &Daemon, done: impl Fn() -> bool) {
    for up in [true, false].into_iter().cycle().take(20) {
        daemon.set_path("tunnel", "line2", PathChange { up: Some(up), ..Default::default() });
        thread::sleep(Duration::from_millis(200));
        if done() {
            break;
        }
    }
}

#[test]
fn the_command_line_monitors_it() {
    let pair = Pair::with_lines(2);
    let controller = Identity::new();
    let ([_a, b], identities) = with_controller(&pair, &controller);
    let mut command = monitor(&pair, &controller, &identities[1]);
    let mut monitor = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(monitor.stdout.take().unwrap()).lines();
    let wanted = "tunnel line2: down (administrative)";
    let told = thread::scope(|scope| {
        let reader =
            scope.spawn(|| lines.by_ref().map(Result::unwrap).find(|it| it.contains(wanted)));
        change_until(&b, || reader.is_finished());
        reader.join().unwrap()
    });
    assert!(told.is_some());
    monitor.kill().unwrap();
    monitor.wait().unwrap();
}

#[test]
fn the_command_line_runs_a_program_here_for_each_of_its_events() {
    let pair = Pair::with_lines(2);
    let controller = Identity::new();
    let ([_a, b], identities) = with_controller(&pair, &controller);
    let directory = tempfile::tempdir().unwrap();
    let [program, seen] = ["on-event", "seen"].map(|name| directory.path().join(name));
    fs::write(&program, format!("#!/bin/sh\ncat >>{}\n", seen.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = monitor(&pair, &controller, &identities[1]);
    let mut monitor = command.arg("--exec").arg(&program).spawn().unwrap();
    let events = || -> Vec<Event> {
        let seen = fs::read_to_string(&seen).unwrap_or_default();
        // The program may be about to write the last line.
        let lines = seen.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        lines.map(|line| serde_json::from_str(line).expect("an event on each line")).collect()
    };
    let is_down = |event: &Event| {
        matches!(&event.kind, EventKind::PathChanged { connection, path, down, .. }
            if connection == "tunnel" && path == "line2" && *down == Some(DownReason::Administrative))
    };
    change_until(&b, || events().iter().any(is_down));
    monitor.kill().unwrap();
    monitor.wait().unwrap();
    assert!(events().iter().any(is_down), "{:?}", events());
}
