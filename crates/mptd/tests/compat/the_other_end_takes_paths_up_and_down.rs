//! The prototype is the initiator: its `mpt path down` reaches us.

use mpt_api::{DownReason, PathChange, PathState};

use crate::hosts::traffic::deliver;
use crate::hosts::{Daemon, Pair, wait_for};
use crate::prototype::{MANUAL, OK, Setup, counter};

fn wait_until(daemon: &Daemon, path: &str, down: Option<DownReason>) {
    wait_for(&format!("{path} is down: {down:?}"), || {
        let path = daemon.path("tunnel", path);
        (path.down == down && (path.state == PathState::Up) == down.is_none()).then_some(())
    });
}

#[test]
fn we_stop_and_begin_again() {
    for authentication in [0, 1, 2] {
        let pair = Pair::with_lines(2);
        let setup = Setup { authentication, ..Setup::default() };
        let (daemon, mut prototype) = setup.start(&pair);

        prototype.tell("path down 10.71.1.2 10.71.1.1");
        let told = prototype.wait_for("it has told us", |it| it["told"] == 0);
        assert_eq!((&told["status"], &told["code"]), (&MANUAL.into(), &0.into()));
        let length = [0, 4, 36][usize::from(authentication)];
        for (round, expected) in [(2, 44 + length), (4, 40 + length)] {
            let answer = prototype.wait_for("an answer", |it| it["answer"] == round);
            assert_eq!((&answer["length"], &answer["code"]), (&expected.into(), &0.into()));
        }
        wait_until(&daemon, "line1", Some(DownReason::Peer));
        assert_eq!(counter(&daemon, "commands_executed"), 1);
        let before = daemon.packets_sent("tunnel")[0];
        deliver(&pair.a.udp("10.72.0.1:0"), &pair.b.udp("10.72.0.2:7"), 100);
        assert_eq!(daemon.packets_sent("tunnel")[0], before);
        // It sends no keepalives there, so it stays down.
        std::thread::sleep(std::time::Duration::from_millis(3500));
        wait_until(&daemon, "line1", Some(DownReason::Peer));

        prototype.tell("path up 10.71.1.2 10.71.1.1");
        wait_until(&daemon, "line1", None);
        prototype.wait_for_status(0, OK);
        deliver(&pair.a.udp("10.72.0.1:0"), &pair.b.udp("10.72.0.2:7"), 100);
        assert!(daemon.packets_sent("tunnel")[0] > before);
    }
}

/// An "up" of the peer does not undo a local administrator's decision, as it does in the prototype.
#[test]
fn what_our_administrator_takes_down_stays_down() {
    let pair = Pair::with_lines(2);
    let (daemon, mut prototype) = Setup::default().start(&pair);
    daemon.set_path("tunnel", "line1", PathChange { up: Some(false), ..PathChange::default() });
    wait_for("it is told", || (counter(&daemon, "commands_done") == 1).then_some(()));
    prototype.tell("path up 10.71.1.2 10.71.1.1");
    prototype.wait_for("it has told us", |it| it["told"] == 0);
    wait_until(&daemon, "line1", Some(DownReason::Administrative));
}
