//! `keepalive = "0"`: not one probe is sent, a path that swallows everything stays up, and one without carrier is left by both ends.

use std::thread;
use std::time::Duration;

use mpt_api::{DownReason, PathState};

use crate::hosts::traffic::tcp_both_ways;
use crate::hosts::{Capture, Line, Pair, Pulse, Way};
use crate::support::{authenticate, share_equally, wait_until_down};

#[test]
fn without_keepalives_the_carrier_decides() {
    let pair = Pair::new(&[Line::bridged(); 2]);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    share_equally(&mut configs);
    for config in &mut configs {
        config.peer("tunnel").set("keepalive", "0");
    }
    let [a, b] = pair.start(&configs);
    tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 300_000);
    // The frames that set the session up have been sent by now.
    thread::sleep(Duration::from_millis(500));
    let captures = pair.hosts().map(Capture::start);
    let pulse = Pulse::start((&pair.a, "10.72.0.1:5000"), (&pair.b, "10.72.0.2:5000"));
    thread::sleep(Duration::from_millis(800));
    pair.swallow(1, Way::Both);
    thread::sleep(Duration::from_millis(1500));
    for daemon in [&a, &b] {
        for path in daemon.connection("tunnel").paths {
            assert_eq!(path.state, PathState::Up, "{path:?}");
            assert_eq!(path.liveness.map(|it| (it.dead_after_us, it.flaps)), Some((0, 0)));
        }
    }
    pair.mend(1, Way::Both);
    pulse.end();
    for capture in captures {
        let control = capture.sent().iter().filter(|it| it.is_control()).count();
        assert_eq!(control, 0, "frames of the control protocol");
    }

    pair.cut(1, true);
    wait_until_down(&a, "line1", Some(DownReason::Interface));
    wait_until_down(&b, "line1", Some(DownReason::Peer));
    tcp_both_ways(&pair.b, &pair.a, "10.72.0.1:5001", 300_000);
    pair.cut(1, false);
    wait_until_down(&a, "line1", None);
    wait_until_down(&b, "line1", None);
}
