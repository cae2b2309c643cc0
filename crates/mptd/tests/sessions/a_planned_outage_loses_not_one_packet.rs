//! `mpt path down` and `up` at one end, under datagrams in both directions: the other end stops sending there as well, and not one
//! packet is lost.

use std::thread;
use std::time::Duration;

use mpt_api::{DownReason, PathChange};

use crate::hosts::{Pair, Pulse};
use crate::support::{start_with_session, wait_until_down};

#[test]
fn a_planned_outage_loses_not_one_packet() {
    let pair = Pair::with_lines(2);
    let [a, b] = start_with_session(&pair);
    let there = Pulse::start((&pair.a, "10.72.0.1:5000"), (&pair.b, "10.72.0.2:5000"));
    let back = Pulse::start((&pair.b, "10.72.0.2:5001"), (&pair.a, "10.72.0.1:5001"));
    for (one, other) in [(&a, &b), (&b, &a), (&a, &b)] {
        let set =
            |up| one.set_path("tunnel", "line1", PathChange { up: Some(up), ..Default::default() });
        set(false);
        wait_until_down(one, "line1", Some(DownReason::Administrative));
        wait_until_down(other, "line1", Some(DownReason::Peer));
        let sent = other.path("tunnel", "line1").sent.packets;
        thread::sleep(Duration::from_millis(300));
        assert_eq!(other.path("tunnel", "line1").sent.packets, sent, "it does not send there");
        set(true);
        wait_until_down(one, "line1", None);
        wait_until_down(other, "line1", None);
        thread::sleep(Duration::from_millis(200));
    }
    for beats in [there.end(), back.end()] {
        beats.assert_complete();
    }
}
