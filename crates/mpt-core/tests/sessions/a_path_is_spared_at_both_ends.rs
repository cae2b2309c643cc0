//! A path that one end would like to be used sparingly: the other end is told, sends its data over
//! other paths while there are any, and probes the path less often.

use std::time::Duration;

use mpt_core::DownReason;
use mpt_wire::control::{Economy, PathState};

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);

fn spare(network: &mut Network, side: Side, path: usize, economy: Economy) {
    network.at(side, |host, now| host.node.set_economy(now, host.paths[path], economy));
}

/// Data packets that a side has sent on a path.
fn sent(network: &Network, side: Side, path: usize) -> u64 {
    let host = &network.hosts[side];
    host.node.tunnels().path(host.paths[path]).unwrap().sent().packets
}

#[test]
fn a_last_resort_carries_data_only_while_nothing_else_works() {
    for side in SIDES {
        let mut network = Network::established(Setup::new(4, &[5, 20]));
        network.run_traffic(SECOND, millis(1));
        spare(&mut network, side, 0, Economy::LAST_RESORT);
        network.run_traffic(millis(100), millis(1));
        let before = SIDES.map(|side| sent(&network, side, 0));
        network.run_traffic(2 * SECOND, millis(1));
        assert_eq!(SIDES.map(|side| sent(&network, side, 0)), before, "neither end uses it");
        assert!(network.is_up_both(0), "it is up all the same");
        assert_eq!(network.path(1 - side, 0).peer_weight, Some(0), "and its peer is told so");
        assert_eq!(network.path(1 - side, 0).peer_state, Some(PathState::USABLE));

        network.cut_both(1, true);
        network.expect_under_traffic(SECOND, "the last resort is used", |network| {
            SIDES.iter().all(|&side| sent(network, side, 0) > before[side] + 50)
        });
        network.cut_both(1, false);
        network.expect_under_traffic(SECOND, "both work", Network::is_all_up);
        network.run_traffic(millis(100), millis(1));
        let before = SIDES.map(|side| sent(&network, side, 0));
        network.run_traffic(SECOND, millis(1));
        assert_eq!(SIDES.map(|side| sent(&network, side, 0)), before, "not any longer");

        spare(&mut network, side, 0, Economy::NONE);
        network.run_traffic(SECOND, millis(1));
        for side in SIDES {
            assert!(sent(&network, side, 0) > before[side] + 300, "as at first");
        }
    }
}

/// Not one packet is lost by the change.
#[test]
fn the_change_loses_nothing() {
    for seed in 0..5 {
        let mut network = Network::established(Setup::new(seed, &[5, 20]));
        for turn in 0..20 {
            let economy = if turn % 2 == 0 { Economy::LAST_RESORT } else { Economy::NONE };
            spare(&mut network, (turn / 2) % 2, 0, economy);
            network.run_traffic(millis(50 + 13 * seed), millis(1));
        }
        network.run(SECOND);
        network.assert_nothing_lost();
    }
}

#[test]
fn a_metered_path_is_probed_less_often_by_both_ends() {
    for side in SIDES {
        let mut network = Network::established(Setup::new(6, &[5, 20]));
        let frames = |network: &Network| SIDES.map(|side| network.path(side, 0).frames);
        let rate = |network: &mut Network| {
            let before = frames(network);
            network.run_traffic(20 * SECOND, millis(10));
            let after = frames(network);
            SIDES.map(|side| after[side] - before[side])
        };
        let usual = rate(&mut network);
        spare(&mut network, side, 0, Economy::METERED);
        network.run_traffic(SECOND, millis(10));
        let spared = rate(&mut network);
        eprintln!("frames in 20 s: {usual:?}, metered {spared:?}");
        for side in SIDES {
            assert!(usual[side] > 5 * spared[side], "{usual:?} {spared:?}");
            assert!(network.path(side, 0).dead_after >= 3 * SECOND);
            assert!(network.path(side, 1).dead_after < SECOND, "the other path is probed as ever");
        }
        let share = sent(&network, side, 0);
        network.run_traffic(SECOND, millis(1));
        assert!(sent(&network, side, 0) > share + 300, "it carries its share of the data");
        assert!(network.is_all_up());
    }
}

/// A metered path that carries much data is watched as any other: its probes are little beside it, and
/// what is lost while nobody notices its death is not.
#[test]
fn a_metered_path_that_is_busy_is_left_as_soon_as_any_other() {
    let mut network = Network::established(Setup::new(7, &[5, 20]));
    spare(&mut network, CLIENT, 0, Economy::METERED);
    let fast = Duration::from_micros(250);
    network.run_traffic(3 * SECOND, fast);
    assert!(network.path(CLIENT, 0).dead_after < SECOND, "{:?}", network.path(CLIENT, 0));
    network.cut_both(0, true);
    let left = |network: &Network| network.is_down_both(0);
    network.expect_under_traffic(millis(400), "the path is left", left);
    network.cut_both(0, false);
    network.run_traffic(5 * SECOND, fast);
    assert!(network.is_all_up(), "{}", network.describe());
    network.run(5 * SECOND);
    network.run_traffic(3 * SECOND, millis(20));
    assert!(network.path(CLIENT, 0).dead_after >= 3 * SECOND, "it carries little now");
}

/// A path that has carried as much as it may is left by both ends, as if by hand.
#[test]
fn a_path_at_its_cap_is_left_by_both_ends() {
    let mut network = Network::established(Setup::new(2, &[5, 20]));
    network.run_traffic(SECOND, millis(1));
    network.at(CLIENT, |host, now| host.set_down(now, 0, DownReason::Cap, true));
    network.expect_under_traffic(millis(45), "the peer has left it", |network| {
        network.down(SERVER, 0, DownReason::Peer)
    });
    let frames = SIDES.map(|side| network.path(side, 0).frames);
    network.run_traffic(20 * SECOND, millis(10));
    let after = SIDES.map(|side| network.path(side, 0).frames);
    assert!(after.iter().zip(frames).all(|(after, before)| after - before < 10), "{after:?}");
    network.at(CLIENT, |host, now| host.set_down(now, 0, DownReason::Cap, false));
    network.expect_under_traffic(millis(200), "up", Network::is_all_up);
    network.run_traffic(SECOND, millis(1));
    network.run(SECOND);
    network.assert_nothing_lost();
}

/// A peer that has begun anew knows it, too.
#[test]
fn a_peer_that_restarts_is_told_again() {
    let mut network = Network::established(Setup::new(8, &[5, 20]));
    spare(&mut network, CLIENT, 0, Economy::LAST_RESORT);
    network.run_traffic(SECOND, millis(1));
    network.restart(SERVER);
    network.expect_under_traffic(20 * SECOND, "both work", Network::is_all_up);
    network.run_traffic(SECOND, millis(1));
    let before = SIDES.map(|side| sent(&network, side, 0));
    network.run_traffic(SECOND, millis(1));
    assert_eq!(SIDES.map(|side| sent(&network, side, 0)), before);
}
