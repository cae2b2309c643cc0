//! `mpt path up|down|set` under traffic: each takes effect, loses no packet, is told to monitors, and outlives a reload that is about
//! something else.

use std::io::{BufReader, Write};
use std::num::NonZeroU16;
use std::os::unix::net::UnixStream;
use std::thread;

use mpt_api::{
    Command, DownReason, Event, EventKind, PathChange, PathState, Reply, Request, Response,
    ResponseBody,
};

use crate::hosts::traffic::{duplicates, receive_count, send_numbered};
use crate::hosts::{Daemon, PATIENCE, Pair, wait_for};

const DATAGRAMS: u64 = 6000;

fn up(up: bool) -> PathChange {
    PathChange { up: Some(up), ..PathChange::default() }
}

fn weight(weight: u16) -> PathChange {
    PathChange { weight: NonZeroU16::new(weight), ..PathChange::default() }
}

#[test]
fn with_the_next_packet() {
    let pair = Pair::with_lines(2);
    let [a, b] = pair.start(&pair.configs());
    let [from, to] = [pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000")];
    let numbers = thread::scope(|scope| {
        scope.spawn(|| {
            send_numbered(&from, to.local_addr().unwrap(), 0..DATAGRAMS, 200, 3000);
        });
        let receiver = scope.spawn(|| receive_count(&to, DATAGRAMS));
        for _ in 0..3 {
            // Down: not one more packet on that path.
            a.set_path("tunnel", "line1", up(false));
            let before = a.packets_sent("tunnel");
            let after = wait_for("the other path goes on", || {
                let now = a.packets_sent("tunnel");
                (now[1] > before[1] + 200).then_some(now)
            });
            assert_eq!(after[0], before[0], "line1 is down");
            // Up: half of them, and none to catch up.
            a.set_path("tunnel", "line1", up(true));
            let before = a.packets_sent("tunnel");
            let after = wait_for("both go on", || {
                let now = a.packets_sent("tunnel");
                (now[1] > before[1] + 100).then_some(now)
            });
            assert!((after[0] - before[0]).abs_diff(after[1] - before[1]) <= 2);
            // Other weights.
            a.set_path("tunnel", "line2", weight(3));
            let before = a.packets_sent("tunnel");
            let after = wait_for("both go on", || {
                let now = a.packets_sent("tunnel");
                (now[1] > before[1] + 150).then_some(now)
            });
            let (line1, line2) = (after[0] - before[0], after[1] - before[1]);
            assert!((3 * line1).abs_diff(line2) <= 6, "{line1} to {line2}");
            a.set_path("tunnel", "line2", weight(1));
        }
        receiver.join().unwrap()
    });
    assert_eq!(duplicates(&numbers), 0);
    assert_eq!(numbers.len() as u64, DATAGRAMS, "nothing is lost");
    let reorder = b.connection("tunnel").reorder;
    assert_eq!((reorder.stray, reorder.duplicate), (0, 0), "{reorder:?}");
}

#[test]
fn and_what_still_arrives_on_a_path_that_is_down_is_delivered() {
    let pair = Pair::with_lines(2);
    let [a, b] = pair.start(&pair.configs());
    b.set_path("tunnel", "line1", up(false));
    let [from, to] = [pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000")];
    send_numbered(&from, to.local_addr().unwrap(), 0..1000, 200, 5000);
    let numbers = receive_count(&to, 1000);
    assert_eq!((numbers.len(), duplicates(&numbers)), (1000, 0));
    let sent = a.path("tunnel", "line1").sent.packets;
    assert!(sent >= 500, "a knows nothing of it");
    wait_for("every packet on it is counted", || {
        (b.remarks("tunnel", "path_down") == sent).then_some(())
    });
}

#[test]
fn and_it_stays_after_a_reload_about_something_else() {
    let pair = Pair::with_lines(2);
    let mut config = pair.configs()[0].clone();
    let mut a = Daemon::start(&pair.a, &config);
    a.wait_until_up();
    a.set_path("tunnel", "line1", up(false));
    let by_hand = PathChange { weight: NonZeroU16::new(5), tier: Some(3), ..weight(5) };
    a.set_path("tunnel", "line2", by_hand);

    config.connection("tunnel").set("window", 77);
    config.path("tunnel", "line1").set("weight", 9);
    a.write_config(&config);
    a.request(Command::Reload).unwrap();
    let connection = a.connection("tunnel");
    assert_eq!(connection.reorder.window, 77);
    let [line1, line2] = connection.paths.try_into().unwrap();
    assert_eq!((line1.state, line1.weight), (PathState::Down, 9));
    assert_eq!(line1.down, Some(DownReason::Administrative));
    assert_eq!((line2.weight, line2.tier), (5, 3));

    // Until the file changes that very value.
    config.path("tunnel", "line2").set("weight", 8);
    config.path("tunnel", "line1").set("up", false);
    a.write_config(&config);
    a.request(Command::Reload).unwrap();
    config.path("tunnel", "line1").set("up", true);
    a.write_config(&config);
    a.request(Command::Reload).unwrap();
    assert_eq!(a.path("tunnel", "line1").state, PathState::Up);
    assert_eq!((a.path("tunnel", "line2").weight, a.path("tunnel", "line2").tier), (8, 3));
}

#[test]
fn and_monitors_are_told() {
    let pair = Pair::with_lines(2);
    let mut config = pair.configs()[0].clone();
    let mut a = Daemon::start(&pair.a, &config);
    a.wait_until_up();
    let mut monitor = Monitor::start(&a);
    a.set_path("tunnel", "line1", up(false));
    monitor.expect_path("line1", |state, down, _| {
        (state, down) == (PathState::Down, Some(DownReason::Administrative))
    });
    a.set_path("tunnel", "line1", up(true));
    monitor.expect_path("line1", |state, down, _| (state, down) == (PathState::Up, None));
    a.set_path("tunnel", "line2", weight(4));
    monitor.expect_path("line2", |_, _, weight| weight == 4);
    pair.b.set_link("line2", false);
    monitor.expect_path("line2", |state, down, _| {
        (state, down) == (PathState::Down, Some(DownReason::Interface))
    });
    pair.b.set_link("line2", true);
    monitor.expect_path("line2", |state, _, _| state == PathState::Up);

    config.remove("tunnel", Some("line1"));
    config.connection("other").set("networks", vec!["10.75.0.2"]).set("key", 9);
    config.lay_path("other", 1, 1);
    a.write_config(&config);
    a.request(Command::Reload).unwrap();
    let told = [monitor.next(), monitor.next(), monitor.next()];
    let (connection, path) = ("tunnel".to_owned(), "line1".to_owned());
    assert!(told.contains(&EventKind::PathRemoved { connection, path }), "{told:?}");
    assert!(told.contains(&EventKind::ConnectionAdded { connection: "other".into() }), "{told:?}");
    assert!(matches!(told[2], EventKind::Reloaded { changes: 2 }), "{told:?}");
}

/// A client that listens.
struct Monitor(BufReader<UnixStream>);

impl Monitor {
    fn start(daemon: &Daemon) -> Self {
        let mut stream = UnixStream::connect(daemon.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = mpt_api::to_line(&Request::new(Command::Monitor));
        stream.write_all(request.as_bytes()).unwrap();
        let mut monitor = Self(BufReader::new(stream));
        assert_eq!(monitor.line(), ResponseBody::Result(Reply::Monitoring));
        monitor
    }

    fn line(&mut self) -> ResponseBody {
        let line = mpt_api::read_line(&mut self.0, mpt_api::MAX_RESPONSE).unwrap();
        let response: Response = serde_json::from_slice(&line.expect("it goes on")).unwrap();
        response.body
    }

    fn next(&mut self) -> EventKind {
        match self.line() {
            ResponseBody::Event(Event { kind, .. }) => kind,
            other => panic!("{other:?}"),
        }
    }

    /// Expects that the next event is about this path of the connection `tunnel`, and says this.
    fn expect_path(
        &mut self,
        name: &str,
        expected: impl Fn(PathState, Option<DownReason>, u16) -> bool,
    ) {
        match self.next() {
            EventKind::PathChanged { connection, path, state, down, weight, .. } => {
                assert_eq!((connection.as_str(), path.as_str()), ("tunnel", name));
                assert!(expected(state, down, weight), "{path}: {state:?} {down:?} {weight}");
            }
            other => panic!("{other:?}"),
        }
    }
}
