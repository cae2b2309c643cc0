//! Each end knows by how much the other one's packets come earlier on one path than on another, though nobody knows the one-way delays.

use std::time::Duration;

use mpt_link::{Bitrate, Change, Distribution, Jitter, Params, Redraw};

use super::network::*;

const SECOND: Duration = Duration::from_secs(1);

/// The leads of what comes to a side, in milliseconds.
fn leads(network: &Network, side: Side) -> Vec<u64> {
    let host = &network.hosts[side];
    let lead = |&path| (host.node.tunnels().path_lead(path).as_micros() as u64 + 500) / 1000;
    host.paths.iter().map(lead).collect()
}

#[test]
fn each_direction_for_itself() {
    for seed in 0..5 {
        let mut network =
            Network::established(Setup { skew: [50, -50], ..Setup::new(seed, &[2, 40, 25]) });
        // 10 ms longer from the server to the client on the first path, 60 on the last.
        for (path, delay) in [(0, 12), (2, 85)] {
            network.change(SERVER, path, Change::Delay(millis(delay)));
        }
        network.run_traffic(SECOND, millis(1));
        assert_eq!(leads(&network, SERVER), [38, 0, 15], "from the client");
        // The shorter delays that were known before count for some time yet.
        network.run_traffic(25 * SECOND, millis(5));
        assert_eq!(leads(&network, SERVER), [38, 0, 15], "from the client");
        assert_eq!(leads(&network, CLIENT), [73, 45, 0], "from the server");
        network.run(SECOND);
        network.assert_nothing_lost();
    }
}

#[test]
fn from_before_the_first_packet_on() {
    let mut network = Network::established(Setup::new(1, &[1, 50]));
    network.run(millis(200));
    for side in SIDES {
        assert_eq!(leads(&network, side), [49, 0]);
    }
}

#[test]
fn by_paths_that_are_in_use_alone() {
    let mut network = Network::established(Setup::new(2, &[1, 20, 100]));
    network.run_traffic(SECOND, millis(1));
    network.cut_both(2, true);
    network.run_traffic(SECOND, millis(1));
    for side in SIDES {
        assert_eq!(leads(&network, side)[..2], [19, 0], "the dead one is not waited for");
    }
    network.cut_both(2, false);
    network.run_traffic(3 * SECOND, millis(1));
    for side in SIDES {
        assert_eq!(leads(&network, side), [99, 80, 0]);
    }
}

#[test]
fn a_queue_does_not_count() {
    let mut network = Network::established(Setup {
        links: vec![
            Params { delay: millis(10), ..Params::default() },
            Params {
                delay: millis(10),
                rate: Some(Bitrate::new(400_000).unwrap()),
                ..Params::default()
            },
        ],
        ..Setup::new(3, &[10, 10])
    });
    network.run_traffic(2 * SECOND, Duration::from_micros(400));
    for side in SIDES {
        assert!(leads(&network, side).iter().all(|&lead| lead <= 4), "{:?}", leads(&network, side));
    }
}

#[test]
fn nor_does_chance_where_delays_jitter() {
    let deviation = millis(10);
    let jitter =
        Jitter { distribution: Distribution::Normal { deviation }, redraw: Redraw::EveryPacket };
    let link = |delay| Params { delay: millis(delay), jitter: Some(jitter), ..Params::default() };
    let (mut held, mut times) = (0, 0);
    for seed in 0..10 {
        let links = vec![link(50), link(50)];
        let mut network = Network::established(Setup { links, ..Setup::new(seed, &[50, 50]) });
        network.run_traffic(3 * SECOND, millis(5));
        for _ in 0..20 {
            network.run_traffic(SECOND, millis(5));
            held += SIDES.iter().filter(|&&side| leads(&network, side) != [0, 0]).count();
            times += SIDES.len();
        }
    }
    assert!(held * 20 <= times, "one of both paths held in {held} of {times} seconds");
}

#[test]
fn after_a_restart_by_the_new_clock() {
    for side in SIDES {
        let mut network = Network::established(Setup::new(4, &[1, 30]));
        network.run_traffic(SECOND, millis(1));
        network.kill(side);
        network.run(3 * SECOND);
        network.restart(side);
        network.expect(4 * SECOND, "all paths", Network::is_all_up);
        network.run_traffic(SECOND, millis(1));
        for side in SIDES {
            assert_eq!(leads(&network, side), [29, 0]);
        }
    }
}
