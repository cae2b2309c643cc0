//! From nothing to paths that carry data, whatever each end knows of the other.

use std::time::Duration;

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn within_a_few_round_trips() {
    for seed in 0..4 {
        let mut network = Network::new(Setup::new(seed, &[5, 30]));
        let took = network.expect(SECOND, "all paths up", Network::is_all_up);
        assert!(took < millis(250), "it took {took:?}");
        network.run_traffic(SECOND, millis(1));
        network.run(SECOND);
        network.assert_nothing_lost();
        for side in SIDES {
            assert!(network.hosts[side].sent > 900);
        }
    }
}

#[test]
fn where_the_server_learns_all_addresses() {
    for seed in 0..4 {
        let mut network = Network::new(Setup::new(seed, &[5, 30]).learning());
        let took = network.expect(SECOND, "all paths up", Network::is_all_up);
        assert!(took < millis(350), "it took {took:?}");
        network.run_traffic(SECOND, millis(1));
        network.run(SECOND);
        network.assert_nothing_lost();
    }
}

#[test]
fn though_the_first_path_is_dead() {
    for learn in [false, true] {
        let mut network = Network::new(Setup { learn, ..Setup::new(1, &[5, 30]) });
        network.cut_both(0, true);
        network.expect(SECOND, "the other path up", |it| it.is_up_both(1));
        network.run_traffic(SECOND, millis(1));
        network.cut_both(0, false);
        let took = network.expect_under_traffic(SECOND, "both up", Network::is_all_up);
        eprintln!("the first path was up after {took:?}");
        network.run(SECOND);
        network.assert_nothing_lost();
    }
}

#[test]
fn though_both_ends_begin_and_name_their_paths_differently() {
    for seed in 0..8 {
        let mut setup = Setup::new(seed, &[5, 30, 12]);
        (setup.both_initiate, setup.reversed) = (true, seed % 2 == 1);
        let mut network = Network::new(setup);
        network.expect(SECOND, "all paths up", Network::is_all_up);
        network.run_traffic(SECOND, millis(1));
        network.run(SECOND);
        network.assert_nothing_lost();
        let session = SIDES.map(|side| network.session(side));
        assert_ne!(session[0].initiator, session[1].initiator, "they agree about the keys");
        assert!(session.iter().all(|it| it.handshakes <= 2), "{}", network.describe());
    }
}

#[test]
fn nothing_is_sent_before() {
    let mut network = Network::new(Setup::new(1, &[5, 30]));
    network.send(CLIENT);
    assert_eq!((network.hosts[CLIENT].sent, network.hosts[CLIENT].refused), (0, 1));
}
