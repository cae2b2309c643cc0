//! A path goes down and comes up under traffic: nothing is lost but what was on a dead link, and the path that returns has
//! nothing to catch up.

use std::time::Duration;

use mpt_core::DownReason;
use mpt_link::{Change, Loss};

use crate::virtual_network::{Network, PathSetup, SIDES, Setup, millis, probability};

const INTERVAL: Duration = Duration::from_micros(200);
/// Large, so that a path that had a round to catch up would show it.
const WEIGHTS: [u16; 3] = [300, 200, 500];
/// The path that goes.
const PATH: usize = 1;

fn network(seed: u64) -> Network {
    let delays = [5, 30, 55];
    let paths = WEIGHTS.into_iter().zip(delays).map(|(weight, delay)| {
        PathSetup::new(millis(delay)).weights([weight, weight]).jitter(millis(1))
    });
    let mut network = Network::new(Setup::new(seed, paths.collect()));
    network.run(millis(500), INTERVAL);
    network
}

fn set_down(network: &mut Network, reason: DownReason) {
    network.change_path(PATH, |node, now, path| node.set_path_state(now, path, reason, true));
}

fn set_up(network: &mut Network, reason: DownReason) {
    network.change_path(PATH, |node, now, path| node.set_path_state(now, path, reason, false));
}

fn set_loss(network: &mut Network, loss: Loss) {
    for side in SIDES {
        network.change(side, PATH, Change::Loss(loss));
    }
}

/// From packet number `first` on, the path gets its share and no more.
fn assert_no_catch_up(network: &Network, side: usize, first: usize) {
    let round = WEIGHTS.into_iter().map(usize::from).sum();
    let weight = usize::from(WEIGHTS[PATH]);
    let packets = &network.wire[side][first..];
    // At no time more than its turn: two of ten, one more where ten packets hold the ends of its intervals.
    for packets in packets.windows(10) {
        let share = packets.iter().filter(|packet| packet.path == PATH).count();
        assert!((1..=3).contains(&share), "{share} of ten packets");
    }
    // The path continues the round that it finds, so the first one may be cut: one packet more or less.
    for (n, packets) in (1..).zip(packets.chunks_exact(round)) {
        let share = packets.iter().filter(|packet| packet.path == PATH).count();
        if n == 1 {
            assert!(share.abs_diff(weight) <= 1, "{share} packets in the first round");
        } else {
            assert_eq!(share, weight, "round {n}");
        }
    }
    assert!(packets.len() > 3 * round);
}

#[test]
fn when_it_is_planned_nothing_is_lost() {
    for seed in 1..=3 {
        let mut network = network(seed);
        let before = SIDES.map(|side| network.wire[side].len());
        set_down(&mut network, DownReason::Administrative);
        network.run(millis(500), INTERVAL);
        let back = SIDES.map(|side| network.wire[side].len());
        set_up(&mut network, DownReason::Administrative);
        network.run(millis(1000), INTERVAL);
        network.settle();

        network.assert_all_delivered_once();
        for side in SIDES {
            assert!(network.delivered(side).len() as u64 == network.hosts[side].sent);
            let meanwhile = &network.wire[side][before[side]..back[side]];
            assert!(meanwhile.len() > 1000);
            assert!(meanwhile.iter().all(|packet| packet.path != PATH));
            assert_no_catch_up(&network, side, back[side]);
        }
    }
}

#[test]
fn when_the_link_dies_only_what_was_on_it_is_lost() {
    for seed in 1..=3 {
        let mut network = network(seed);
        let before = SIDES.map(|side| network.wire[side].len());
        set_loss(&mut network, Loss::Bernoulli(probability(1.0)));
        network.run(millis(400), INTERVAL);
        let noticed = SIDES.map(|side| network.wire[side].len());
        set_down(&mut network, DownReason::Interface);
        network.run(millis(500), INTERVAL);
        let back = SIDES.map(|side| network.wire[side].len());
        set_loss(&mut network, Loss::None);
        set_up(&mut network, DownReason::Interface);
        network.run(millis(1000), INTERVAL);
        network.settle();

        network.assert_all_delivered_once();
        for side in SIDES {
            let packets = || (0..).zip(&network.wire[side]);
            let lost =
                |&(_, packet): &(usize, &crate::virtual_network::Transmission)| !packet.arrives();
            let on_it = packets().filter(|&(n, packet)| {
                packet.path == PATH && (before[side]..noticed[side]).contains(&n)
            });
            assert!(packets().filter(lost).map(|(n, _)| n).eq(on_it.map(|(n, _)| n)));
            assert_no_catch_up(&network, side, back[side]);
        }
    }
}

#[test]
fn when_another_waits_for_its_maximum_delay_order_is_kept_too() {
    for early_release in [false, true] {
        let mut setup = network(1).setup().clone();
        setup.reorder.early_release = early_release;
        // FIFO links: with jitter that reorders, early release is allowed to be wrong while it learns.
        setup.paths = setup.paths.into_iter().map(PathSetup::keep_order).collect();
        let mut network = Network::new(setup);
        for _ in 0..3 {
            network.run(millis(300), INTERVAL);
            set_down(&mut network, DownReason::Administrative);
            network.run(millis(300), INTERVAL);
            set_up(&mut network, DownReason::Administrative);
        }
        network.run(millis(300), INTERVAL);
        network.settle();
        network.assert_all_delivered_once();
        if !early_release {
            assert_eq!(SIDES.map(|side| network.inversions(side)), [0, 0]);
        }
    }
}
