//! A path that delivers nothing, or only one way, is left by both ends within 400 ms; one that is
//! merely slow is not.

use std::time::Duration;

use mpt_core::DownReason;
use mpt_link::{Bitrate, ByteCount, Change, QueueLimit};

use super::network::*;

const LIMIT: Duration = millis(400);

/// No data leaves on the path any more, and nobody waits for what does not come.
fn left(network: &Network) -> bool {
    network.is_down_both(0) && SIDES.iter().all(|&side| !network.is_heard(side, 0))
}

#[test]
fn a_black_hole() {
    let mut worst = Duration::ZERO;
    for seed in 0..20 {
        let mut network = Network::established(Setup::new(seed, &[5, 20]));
        let traffic = 500 + network.draw(200);
        network.run_traffic(millis(traffic), millis(1));
        network.cut_both(0, true);
        let cut = network.now();
        let took = network.expect_under_traffic(LIMIT, "the path is left", left);
        worst = worst.max(took);
        for side in SIDES {
            let last = network.last_data[0][side].expect("there was traffic");
            assert!(last - cut <= LIMIT);
            assert!(network.down(side, 0, DownReason::Dead), "{}", network.describe());
            assert!(network.is_up(side, 1));
        }
        // Nothing more is lost.
        let before = SIDES.map(|side| network.hosts[side].sent);
        network.run_traffic(millis(500), millis(1));
        network.run(millis(500));
        for side in SIDES {
            let delivered = network.delivered(side);
            let after = delivered.iter().filter(|&&id| id >= before[side]).count() as u64;
            assert_eq!(after, network.hosts[side].sent - before[side], "seed {seed}");
        }
    }
    eprintln!("worst: {worst:?}");
    assert!(worst > millis(100), "that cannot be");
}

#[test]
fn one_direction() {
    for seed in 0..10 {
        for direction in SIDES {
            let mut network = Network::established(Setup::new(seed, &[5, 20]));
            network.run_traffic(millis(500 + 7 * seed), millis(1));
            network.cut(direction, 0, true);
            // The end whose packets are lost leaves it. The other one, which is heard, may use it.
            network.expect_under_traffic(LIMIT, "the broken direction is left", |network| {
                !network.is_up(direction, 0) && !network.is_heard(1 - direction, 0)
            });
            network.run_traffic(millis(500), millis(1));
            assert!(!network.is_up(direction, 0));
            network.cut(direction, 0, false);
            network.expect_under_traffic(Duration::from_secs(1), "both", Network::is_all_up);
        }
    }
}

#[test]
fn while_idle_it_is_found_out_by_the_first_packets() {
    let mut network = Network::established(Setup::new(3, &[5, 20]));
    network.run(Duration::from_secs(60));
    assert!(SIDES.iter().all(|&side| !network.session(side).active));
    network.cut_both(0, true);
    network.run(millis(100));
    network.expect_under_traffic(LIMIT + millis(50), "the path is left", left);
}

#[test]
fn late_is_not_dead() {
    for seed in 0..4 {
        let mut network = Network::established(Setup::new(seed, &[5, 20]));
        network.run_traffic(Duration::from_secs(1), millis(1));
        // 2 s of queue build up before the path, and stay.
        for side in SIDES {
            network.change(side, 0, Change::Queue(QueueLimit::Bytes(ByteCount(50_000))));
            network.change(side, 0, Change::Rate(Bitrate::new(200_000)));
        }
        for _ in 0..100 {
            network.run_traffic(millis(100), millis(1));
            for side in SIDES {
                assert!(network.is_up(side, 0), "{}", network.describe());
            }
        }
        let rtt = network.path(CLIENT, 0).rtt.expect("there were echoes");
        assert!(rtt > Duration::from_secs(2), "the queue is there: {rtt:?}");
    }
}
