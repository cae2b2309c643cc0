//! `mpt top` in a real terminal follows the tunnel, takes a path out of service and in again by keys, and leaves the terminal as it was.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use mpt_api::DownReason;

use crate::command_line::mpt;
use crate::hosts::{Daemon, Line, Pair, Stream, Way};
use crate::support::{authenticate, wait_until_down};
use crate::terminal::Terminal;

#[test]
fn and_follows_the_tunnel_at_every_size() {
    let pair = Pair::new(&[Line::bridged(); 2]);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    for config in &mut configs {
        config.connection("tunnel").set("mapping", "adaptive");
    }
    let [mut a, _b] = pair.start(&configs);
    let stream = Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    let terminal = Terminal::run(&mpt(&a, &["top"]), (80, 30));
    // A full bar, and what was measured of the selected path.
    terminal.wait_for(&["tunnel up", "> line1", "line2", "RTT", "\u{2588}", "EVENTS", "q: quit"]);

    terminal.press(&["Down", "d"]);
    terminal.wait_for(&["> line2", "Take path line2 of connection tunnel out of service?"]);
    terminal.press(&["n"]);
    terminal.wait_for(&["q: quit"]);
    assert_eq!(a.path("tunnel", "line2").down, None, "it was not confirmed");
    terminal.press(&["d", "y"]);
    wait_until_down(&a, "line2", Some(DownReason::Administrative));
    terminal.wait_for(&["tunnel degraded", "path line2 is out of service", "tunnel line2: down"]);
    terminal.press(&["u"]);
    terminal.wait_for(&["Take path line2 of connection tunnel into service?"]);
    terminal.press(&["y"]);
    wait_until_down(&a, "line2", None);
    terminal.wait_for(&["tunnel up"]);

    pair.swallow(1, Way::Both);
    terminal.wait_for(&["path line1 is dead"]);
    stream.end();
    a.kill();
    terminal.wait_for(&["mpt unreachable", "Everything below is as of", "> line2"]);
    for (columns, rows) in [(20, 10), (20, 60), (200, 3), (1, 1), (80, 24)] {
        terminal.resize(columns, rows);
    }
    terminal.wait_for(&["mpt unreachable", "connection tunnel: in service"]);
    terminal.press(&["q"]);
    terminal.wait_for(&["ended with 0", "icanon"]);
}

#[test]
fn and_needs_a_terminal() {
    let pair = Pair::new(&[Line::default(); 2]);
    let [a, _b] = pair.start(&pair.configs());
    let output = mpt(&a, &["top"]).stdout(Stdio::piped()).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{error}");
    assert!(error.contains("mpt status --watch"), "{error}");
}

#[test]
fn and_leaves_the_terminal_as_it_was_when_it_is_ended() {
    let pair = Pair::new(&[Line::default(); 2]);
    let [a, _b] = pair.start(&pair.configs());
    let terminal = Terminal::run(&mpt(&a, &["top", "tunnel"]), (80, 24));
    terminal.wait_for(&["tunnel up", "q: quit"]);
    let ours = processes_of(&a);
    assert_eq!(ours.len(), 1, "{ours:?}");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(ours[0]), nix::sys::signal::Signal::SIGTERM)
        .unwrap();
    terminal.wait_for(&["ended with 0", "icanon"]);
}

#[test]
fn and_ends_with_its_terminal() {
    let pair = Pair::new(&[Line::default(); 2]);
    let [a, _b] = pair.start(&pair.configs());
    let terminal = Terminal::run(&mpt(&a, &["top"]), (80, 24));
    terminal.wait_for(&["tunnel up", "q: quit"]);
    assert_eq!(processes_of(&a).len(), 1);
    drop(terminal);
    let start = Instant::now();
    while !processes_of(&a).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(5), "mpt top goes on without a terminal");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The processes of `mpt` that ask this daemon.
fn processes_of(daemon: &Daemon) -> Vec<i32> {
    let socket = daemon.socket();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ours = processes.filter_map(|process| {
        let arguments = std::fs::read_to_string(process.path().join("cmdline")).ok()?;
        let mut arguments = arguments.split('\0');
        let is_ours = arguments.next()?.ends_with("/mpt")
            && arguments.any(|it| it == socket.to_str().unwrap());
        is_ours.then(|| process.file_name().to_str().unwrap().parse().unwrap())
    });
    ours.collect()
}
