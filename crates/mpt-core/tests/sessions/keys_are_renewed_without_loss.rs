//! New keys every two minutes, and nothing of it is noticed.

use std::time::Duration;

use mpt_core::liveness::State;

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn under_traffic() {
    for (seed, both_initiate) in [(0, false), (1, true), (2, false)] {
        let setup = Setup { both_initiate, skew: [200, -200], ..Setup::new(seed, &[5, 20]) };
        let mut network = Network::established(setup);
        network.run_traffic(500 * SECOND, millis(5));
        for side in SIDES {
            let session = network.session(side);
            assert!((4..=8).contains(&session.handshakes), "{}", network.describe());
            for path in 0..2 {
                assert_eq!(network.hosts[side].changes(path, State::Dead), 0);
            }
        }
        network.run(SECOND);
        network.assert_nothing_lost();
    }
}

#[test]
fn while_idle() {
    let mut network = Network::established(Setup::new(1, &[5, 20]));
    network.run(3600 * SECOND);
    assert!(network.session(CLIENT).handshakes > 25);
    let mut bytes = network.control_bytes;
    network.run(3600 * SECOND);
    for side in SIDES {
        bytes[side] = network.control_bytes[side] - bytes[side];
        assert_eq!(network.hosts[side].changes(0, State::Dead), 0);
    }
    assert!(network.is_all_up());
    // Both ends and paths: hardly more than 1 KB a minute.
    eprintln!("{bytes:?} bytes an hour");
    assert!(bytes.iter().all(|&bytes| bytes < 150_000), "{bytes:?}");
}

/// The peer loses every frame of some handshakes: the keys in use last until one succeeds.
#[test]
fn though_handshakes_are_lost() {
    let lossy = |params: &mut mpt_link::Params| {
        params.loss = mpt_link::Loss::Bernoulli(mpt_link::Probability::new(0.3).unwrap());
    };
    let mut network = Network::new(Setup::new(1, &[5, 20, 30]).links(lossy));
    network.expect(10 * SECOND, "any path", |it| (0..3).any(|path| it.is_up_both(path)));
    for _ in 0..500 {
        network.run_traffic(SECOND, millis(50));
        let any = (0..3).any(|path| network.is_up(CLIENT, path) && network.is_up(SERVER, path));
        assert!(any, "{}", network.describe());
    }
}

#[test]
fn both_ends_begin_at_once() {
    for seed in 0..20 {
        let mut setup = Setup::new(seed, &[5, 20]);
        setup.both_initiate = true;
        let mut network = Network::established(setup);
        for _ in 0..10 {
            // Everything is lost for so long that both look for the other.
            (0..2).for_each(|path| network.cut_both(path, true));
            network.run_traffic(millis(1500), millis(5));
            (0..2).for_each(|path| network.cut_both(path, false));
            network.expect_under_traffic(4 * SECOND, "both paths", Network::is_all_up);
            network.run_traffic(SECOND, millis(5));
            let views = SIDES.map(|side| network.session(side));
            assert_ne!(views[0].initiator, views[1].initiator, "{}", network.describe());
        }
    }
}
