//! Interfaces and carriers are well, but packets vanish on the way, in both directions or in one: the path is left within the
//! dead time, used again when it works again, and nothing is lost in between.

use std::thread;
use std::time::{Duration, Instant};

use mpt_api::{DownReason, PathState};

use crate::hosts::{Beats, Daemon, Line, Pair, Pulse, Way, wait_for};
use crate::support::{start_with_equal_shares, wait_until_down};

/// 400 ms with the default keepalive, and what a busy machine adds.
const LIMIT: Duration = Duration::from_millis(1500);
/// For what was on its way.
const MARGIN: Duration = Duration::from_millis(10);

/// Two ends with two bridged lines, and datagrams both ways.
struct Scene {
    pair: Pair,
    daemons: [Daemon; 2],
    pulses: [Pulse; 2],
}

impl Scene {
    fn new() -> Self {
        let pair = Pair::new(&[Line::bridged(); 2]);
        let daemons = start_with_equal_shares(&pair);
        let pulses = [
            Pulse::start((&pair.a, "10.72.0.1:5000"), (&pair.b, "10.72.0.2:5000")),
            Pulse::start((&pair.b, "10.72.0.2:5001"), (&pair.a, "10.72.0.1:5001")),
        ];
        Self { pair, daemons, pulses }
    }

    /// Has line 1 swallow everything of one direction until the ends `left` have left it, and mends it some time later. `judge` gets the
    /// times of break and leaving, and what became of the datagrams.
    fn swallow(self, way: Way, left: &[usize], judge: impl FnOnce([Instant; 2], [Beats; 2])) {
        let Self { pair, daemons, pulses } = self;
        thread::sleep(Duration::from_millis(300));
        let start = Instant::now();
        pair.swallow(1, way);
        // The system may take its time for it.
        let broken = Instant::now();
        wait_for("it is left", || {
            let down = |&end: &usize| daemons[end].path("tunnel", "line1").state == PathState::Down;
            left.iter().all(down).then_some(())
        });
        let end = Instant::now();
        assert!(end - broken < LIMIT, "{:?}", end - broken);
        for &end in left {
            let path = daemons[end].path("tunnel", "line1");
            let liveness = path.liveness.unwrap();
            assert_eq!((path.down, liveness.hears_us), (Some(DownReason::Dead), false), "{path:?}");
            assert_eq!(liveness.flaps, 1);
        }
        thread::sleep(Duration::from_millis(500));
        for (end, daemon) in daemons.iter().enumerate() {
            let path = daemon.path("tunnel", "line1");
            let [hears_us, we_hear] = match (way, end) {
                (Way::Both, _) => [false, false],
                (Way::AToB, 0) | (Way::BToA, 1) => [false, true],
                (Way::AToB, _) | (Way::BToA, _) => [true, false],
            };
            let liveness = path.liveness.unwrap();
            assert_eq!([liveness.hears_us, liveness.we_hear], [hears_us, we_hear], "{path:?}");
            assert_eq!(path.state == PathState::Up, hears_us, "{path:?}");
            assert_eq!(daemon.path("tunnel", "line2").state, PathState::Up);
        }
        pair.mend(1, way);
        for daemon in &daemons {
            wait_until_down(daemon, "line1", None);
        }
        thread::sleep(Duration::from_millis(300));
        for daemon in &daemons {
            assert_eq!(daemon.path("tunnel", "line1").state, PathState::Up, "and it stays");
        }
        // The daemons are there still: should it fail, they tell what they know.
        judge([start, end], pulses.map(Pulse::end));
    }
}

/// Asserts that no datagram was lost but those sent into the hole before it was noticed.
fn assert_lost_only_between(beats: &Beats, [start, end]: [Instant; 2]) {
    let all = beats.lost(beats.sent[0], Instant::now());
    let then = beats.lost(start - MARGIN, end);
    assert_eq!(all, then);
    assert!(then.len() as u128 <= (end - start).as_millis() / 2 + 20, "{}", then.len());
}

#[test]
fn in_both_directions() {
    Scene::new().swallow(Way::Both, &[0, 1], |times, beats| {
        beats.iter().for_each(|beats| assert_lost_only_between(beats, times));
    });
}

#[test]
fn in_one_direction_and_the_other_is_used_still() {
    Scene::new().swallow(Way::AToB, &[0], |times, [there, back]| {
        assert_lost_only_between(&there, times);
        back.assert_complete();
    });
}

#[test]
fn in_the_other_direction() {
    Scene::new().swallow(Way::BToA, &[1], |times, [there, back]| {
        there.assert_complete();
        assert_lost_only_between(&back, times);
    });
}

#[test]
fn all_at_once_and_back() {
    let pair = Pair::new(&[Line::bridged(); 2]);
    let [a, b] = start_with_equal_shares(&pair);
    let stream = crate::hosts::Stream::start(&pair.a, &pair.b, "10.72.0.2:5001");
    stream.wait_for_progress();
    for line in [1, 2] {
        pair.swallow(line, Way::Both);
    }
    for (daemon, line) in [(&a, "line1"), (&a, "line2"), (&b, "line1"), (&b, "line2")] {
        wait_until_down(daemon, line, Some(DownReason::Dead));
    }
    for line in [1, 2] {
        pair.mend(line, Way::Both);
    }
    for (daemon, line) in [(&a, "line1"), (&a, "line2"), (&b, "line1"), (&b, "line2")] {
        wait_until_down(daemon, line, None);
    }
    stream.wait_for_progress();
    stream.end();
}
