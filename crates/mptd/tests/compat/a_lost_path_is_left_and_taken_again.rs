//! A path that loses everything without a sound: dead timers of both ends, and what becomes of it afterwards.

use std::time::Duration;

use mpt_api::{DownReason, PathState};

use crate::hosts::traffic::deliver;
use crate::hosts::{Daemon, Line, Pair, Way, wait_within};
use crate::prototype::{DOWN, OK, Setup};

/// The prototype's dead timer takes up to 2.5 s longer than it says.
const PATIENCE: Duration = Duration::from_secs(40);

fn wait_until(daemon: &Daemon, up: bool) {
    wait_within(PATIENCE, &format!("line1 is up: {up}"), || {
        ((daemon.path("tunnel", "line1").state == PathState::Up) == up).then_some(())
    });
}

#[test]
fn both_ends_leave_it_and_return() {
    let pair = Pair::new(&[Line::bridged(), Line::bridged()]);
    let (daemon, mut prototype) = Setup { dead: 3, ..Setup::default() }.start(&pair);
    pair.swallow(1, Way::Both);
    wait_until(&daemon, false);
    prototype.wait_for_status(0, DOWN);
    deliver(&pair.a.udp("10.72.0.1:0"), &pair.b.udp("10.72.0.2:7"), 100);
    deliver(&pair.b.udp("10.72.0.2:0"), &pair.a.udp("10.72.0.1:7"), 100);

    pair.mend(1, Way::Both);
    wait_until(&daemon, true);
    prototype.wait_for_status(0, OK);
}

/// Our packets are lost, the prototype's are not. It tells us, and its keepalives, which would make one of its own kind use the path again,
/// do not: we try it first.
#[test]
fn one_broken_direction_is_not_used() {
    let pair = Pair::new(&[Line::bridged(), Line::bridged()]);
    let (daemon, mut prototype) = Setup { dead: 3, ..Setup::default() }.start(&pair);
    pair.swallow(1, Way::AToB);
    wait_until(&daemon, false);
    assert_eq!(daemon.path("tunnel", "line1").down, Some(DownReason::Peer));
    for _ in 0..8 {
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(daemon.path("tunnel", "line1").down, Some(DownReason::Peer));
    }
    assert_eq!(prototype.status()["paths"][0]["status"], DOWN);
    deliver(&pair.a.udp("10.72.0.1:0"), &pair.b.udp("10.72.0.2:7"), 100);

    pair.mend(1, Way::AToB);
    wait_until(&daemon, true);
    prototype.wait_for_status(0, OK);
}
