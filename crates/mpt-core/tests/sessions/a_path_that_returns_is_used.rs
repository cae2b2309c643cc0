//! After a failure, a path is in use again within a second, and repeated failures leave no traces.

use std::time::Duration;

use mpt_core::liveness::State;

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn within_a_second_and_without_loss() {
    for seed in 0..10 {
        let mut network = Network::established(Setup::new(seed, &[5, 20]));
        network.run_traffic(SECOND, millis(1));
        network.cut_both(0, true);
        network.run_traffic(millis(3000 + 37 * seed), millis(1));
        network.cut_both(0, false);
        let before = SIDES.map(|side| network.hosts[side].sent);
        let took = network.expect_under_traffic(SECOND, "both paths", Network::is_all_up);
        eprintln!("{took:?}");
        network.run_traffic(SECOND, millis(1));
        network.run(SECOND);
        network.assert_nothing_lost_from(before);
    }
}

#[test]
fn after_everything_was_down() {
    for (seed, seconds) in [(0, 2), (1, 10), (2, 100), (3, 400)] {
        for learn in [false, true] {
            let mut network =
                Network::established(Setup { learn, ..Setup::new(seed, &[5, 20, 50]) });
            network.run_traffic(SECOND, millis(1));
            (0..3).for_each(|path| network.cut_both(path, true));
            network.run(Duration::from_secs(seconds));
            assert!((0..3).all(|path| network.is_down_both(path)));
            (0..3).for_each(|path| network.cut_both(path, false));
            // While keys are alive, its own probes find out; later, handshakes do.
            let limit = if seconds < 60 { SECOND } else { 6 * SECOND };
            let took = network.expect_under_traffic(limit, "all paths", Network::is_all_up);
            eprintln!("after {seconds} s: {took:?}");
        }
    }
}

/// A path that keeps failing is held back, and the session survives.
#[test]
fn after_a_hundred_flaps() {
    let mut network = Network::established(Setup::new(7, &[5, 20]));
    network.run_traffic(SECOND, millis(1));
    for _ in 0..100 {
        network.cut_both(0, true);
        let down = 400 + network.draw(400);
        network.run_traffic(millis(down), millis(2));
        network.cut_both(0, false);
        let up = 100 + network.draw(900);
        network.run_traffic(millis(up), millis(2));
        assert!(network.is_up_both(1), "{}", network.describe());
    }
    // At most 24 proofs at the distance of a keepalive.
    network.expect_under_traffic(4 * SECOND, "all paths", Network::is_all_up);
    for side in SIDES {
        assert!(network.path(side, 0).flaps >= 2, "{}", network.describe());
        assert_eq!(network.hosts[side].changes(1, State::Dead), 0);
        assert_eq!(network.session(side).paths.len(), 2);
    }
    let received: Vec<u64> = network.delivered(CLIENT);
    assert!(received.is_sorted());
}

/// A host that stood still, or lost all its lines at once: the first proof ends the outage, and there is no waiting for three.
#[test]
fn with_the_first_proof_where_none_works() {
    for seed in 0..20 {
        let mut network = Network::established(Setup::new(seed, &[5, 20]));
        network.run_traffic(11 * SECOND, millis(1));
        (0..2).for_each(|path| network.cut_both(path, true));
        let outage = 450 + network.draw(600);
        network.run_traffic(millis(outage), millis(1));
        assert!((0..2).all(|path| network.is_down_both(path)), "{}", network.describe());
        network.cut_both(1, false);
        // A probe every 110 ms at most, its round trip of 40 ms, and half a one for the table of paths.
        let took = network.expect_under_traffic(millis(200), "one", |it| it.is_up_both(1));
        eprintln!("{took:?}");
    }
}
