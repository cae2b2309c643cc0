//! We are the initiator: `mpt path down` reaches the prototype in four rounds, whatever the authentication.

use mpt_api::{DownReason, PathChange, PathState};

use crate::hosts::traffic::deliver;
use crate::hosts::{Pair, wait_for};
use crate::prototype::{DOWN, OK, OUR_COMMAND_PORT, Setup, counter};

fn set(daemon: &crate::hosts::Daemon, path: &str, up: bool) {
    daemon.set_path("tunnel", path, PathChange { up: Some(up), ..PathChange::default() });
}

#[test]
fn the_prototype_stops_and_begins_again() {
    for authentication in [0, 1, 2] {
        let pair = Pair::with_lines(2);
        let setup = Setup { authentication, ..Setup::default() };
        let (daemon, mut prototype) = setup.start(&pair);

        set(&daemon, "line1", false);
        let command = prototype.wait_for("a command", |it| it.get("command").is_some());
        let length = [0, 4, 36][usize::from(authentication)];
        assert_eq!(command["command"], DOWN);
        assert_eq!(command["length"], 72 + length);
        assert_eq!(command["port"], OUR_COMMAND_PORT);
        // Over the path that works.
        assert_eq!(command["source"], "::ffff:10.71.2.1");
        prototype.wait_for_status(0, DOWN);
        done(&daemon, 1);
        let path = daemon.path("tunnel", "line1");
        assert_eq!((path.state, path.down), (PathState::Down, Some(DownReason::Administrative)));

        // Everything over the other path, in both directions.
        let before = prototype.status()["paths"][0]["sent"].clone();
        deliver(&pair.a.udp("10.72.0.1:0"), &pair.b.udp("10.72.0.2:7"), 100);
        deliver(&pair.b.udp("10.72.0.2:0"), &pair.a.udp("10.72.0.1:7"), 100);
        assert_eq!(prototype.status()["paths"][0]["sent"], before);
        // No keepalives of ours bring it back.
        std::thread::sleep(std::time::Duration::from_millis(2500));
        assert_eq!(prototype.status()["paths"][0]["status"], DOWN);

        prototype.forget();
        set(&daemon, "line1", true);
        let command = prototype.wait_for("a command", |it| it.get("command").is_some());
        assert_eq!(command["command"], OK);
        prototype.wait_for_status(0, OK);
        done(&daemon, 2);
        assert_eq!(daemon.path("tunnel", "line1").state, PathState::Up);
        deliver(&pair.b.udp("10.72.0.2:0"), &pair.a.udp("10.72.0.1:7"), 100);
    }
}

/// The last path is announced too, which the prototype itself would never do.
#[test]
fn the_last_path_is_announced_too() {
    let pair = Pair::with_lines(2);
    let (daemon, mut prototype) = Setup::default().start(&pair);
    set(&daemon, "line1", false);
    set(&daemon, "line2", false);
    prototype.wait_for_status(0, DOWN);
    prototype.wait_for_status(1, DOWN);
    set(&daemon, "line2", true);
    prototype.wait_for_status(1, OK);
    done(&daemon, 3);
}

/// A busy prototype does not answer: the command is repeated, at most six times in three seconds.
#[test]
fn a_busy_prototype_is_asked_again() {
    let pair = Pair::with_lines(2);
    let (daemon, mut prototype) = Setup { authentication: 1, ..Setup::default() }.start(&pair);
    prototype.tell("hold 1.2");
    // It is on its way there.
    std::thread::sleep(std::time::Duration::from_millis(100));
    set(&daemon, "line1", false);
    prototype.wait_for_status(0, DOWN);
    wait_for("it is told", || (counter(&daemon, "commands_done") == 1).then_some(()));
    assert!(counter(&daemon, "requests_sent") >= 4);
}

/// A path whose interface is lost is told like one that the administrator takes down.
#[test]
fn a_lost_carrier_is_told() {
    let pair = Pair::new(&[crate::hosts::Line::bridged(), crate::hosts::Line::bridged()]);
    let (daemon, mut prototype) = Setup::default().start(&pair);
    pair.cut(1, true);
    prototype.wait_for_status(0, DOWN);
    assert_eq!(daemon.path("tunnel", "line1").down, Some(DownReason::Interface));
    pair.cut(1, false);
    prototype.wait_for_status(0, OK);
    wait_for("the path is up", || {
        (daemon.path("tunnel", "line1").state == PathState::Up).then_some(())
    });
}

fn done(daemon: &crate::hosts::Daemon, times: u64) {
    wait_for("the prototype has answered", || {
        (counter(daemon, "commands_done") == times).then_some(())
    });
    assert_eq!(counter(daemon, "commands_unanswered"), 0);
}
