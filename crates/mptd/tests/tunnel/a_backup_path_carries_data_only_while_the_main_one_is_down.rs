//! Tiers: a backup link is idle while the main one works.

use mpt_api::{PathChange, PathState};

use crate::hosts::traffic::deliver;
use crate::hosts::{Pair, wait_for};

#[test]
fn a_backup_path_carries_data_only_while_the_main_one_is_down() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    for config in &mut configs {
        config.path("tunnel", "line2").set("tier", 1);
    }
    let [a, _b] = pair.start(&configs);
    let (near, far) = (pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000"));
    let mut expected = [0, 0];
    let mut send_by = |path: usize| {
        deliver(&near, &far, 100);
        expected[path] += 100;
        assert_eq!(a.packets_sent("tunnel"), expected);
    };
    send_by(0);

    // The administrator takes it down.
    let change = |up| PathChange { up: Some(up), ..PathChange::default() };
    a.set_path("tunnel", "line1", change(false));
    send_by(1);
    a.set_path("tunnel", "line1", change(true));
    send_by(0);

    // Its cable breaks.
    let wait = |state| {
        wait_for("the carrier is noticed", || {
            (a.path("tunnel", "line1").state == state).then_some(())
        });
    };
    pair.b.set_link("line1", false);
    wait(PathState::Down);
    send_by(1);
    pair.b.set_link("line1", true);
    wait(PathState::Up);
    send_by(0);

    // The tiers are exchanged.
    a.set_path("tunnel", "line1", PathChange { tier: Some(2), ..PathChange::default() });
    send_by(1);
}
