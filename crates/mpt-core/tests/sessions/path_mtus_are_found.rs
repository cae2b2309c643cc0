//! The path MTU of each direction is found by padded probes, which are no burden to anything else.

use mpt_core::liveness::State;
use mpt_core::path::discovery::Phase;
use mpt_core::session::PathEvent;

use crate::network::{CLIENT, Network, SERVER, SIDES, Setup, millis};

/// The MTU that a side uses a path with.
fn mtu(network: &Network, side: usize, path: usize) -> u16 {
    let host = &network.hosts[side];
    host.node.tunnels().path(host.paths[path]).unwrap().mtu()
}

fn expect_mtu(network: &mut Network, side: usize, path: usize, expected: u16) {
    let what = format!("side {side} uses path {path} with {expected} bytes");
    let found = |network: &Network| mtu(network, side, path) == expected;
    network.expect_under_traffic(millis(15_000), &what, found);
}

#[test]
fn each_direction_by_itself_and_no_path_suffers() {
    for seed in 1..=10 {
        let mut network = Network::new(Setup::new(seed, &[10, 40]));
        // Ethernet, but for one direction of the first path.
        network.mtus = vec![[1400, 1500], [1500, 1500]];
        network.expect(millis(3000), "all paths come up", Network::is_all_up);
        expect_mtu(&mut network, CLIENT, 0, 1400);
        network.run_traffic(millis(60_000), millis(10));
        network.run(millis(200));
        assert_eq!([mtu(&network, SERVER, 0), mtu(&network, CLIENT, 1)], [1500, 1500]);
        for side in SIDES {
            for path in 0..2 {
                let view = network.path(side, path);
                assert_eq!((view.state, view.flaps), (State::Up, 0), "seed {seed}");
                assert_eq!(view.mtu_phase, Phase::SearchComplete);
                assert!(view.mtu_confirmed);
                // Probes that are lost or take longer do not count in the round-trip time.
                let rtt = millis([20, 80][path]);
                assert!(view.rtt.unwrap() < rtt + millis(1), "{:?}", view.rtt);
            }
            assert_eq!(network.hosts[side].changes(0, State::Dead), 0);
        }
        network.assert_nothing_lost();
    }
}

#[test]
fn an_echo_is_short_however_long_its_probe_is() {
    let mut network = Network::new(Setup::new(3, &[20]));
    network.captured = Some(Vec::new());
    network.expect(millis(3000), "the path comes up", Network::is_all_up);
    network.run_traffic(millis(10_000), millis(10));
    let captured = network.captured.take().unwrap();
    let long: Vec<_> = captured.iter().filter(|(_, _, wire)| wire.bytes.len() > 400).collect();
    // Each end: the base and the largest size once, then one confirmation in three seconds.
    assert!((8..=14).contains(&long.len()), "{} long frames", long.len());
    let sizes: Vec<_> = long.iter().map(|(_, _, wire)| wire.bytes.len() + 28).collect();
    assert!(sizes.iter().all(|size| matches!(size, 1316 | 1320 | 1500)), "{sizes:?}");
}

#[test]
fn a_report_of_icmp_is_checked() {
    let mut network = Network::established(Setup::new(5, &[20]));
    network.run_traffic(millis(2000), millis(10));
    // A lie changes nothing.
    let check = |network: &mut Network, mtu: u16| {
        network.at(CLIENT, |host, now| {
            host.node.check_path_mtu(now, host.connection, host.paths[0], mtu)
        })
    };
    assert!(check(&mut network, 576));
    assert!(!check(&mut network, 577), "one at a time");
    for _ in 0..300 {
        network.run_traffic(millis(10), millis(10));
        assert_eq!(mtu(&network, CLIENT, 0), 1500);
    }
    // The truth is found within a second.
    network.mtus = vec![[1432, 1500]];
    assert!(check(&mut network, 1432));
    let found = |network: &Network| mtu(network, CLIENT, 0) == 1432;
    network.expect_under_traffic(millis(1000), "1432 is in use", found);
    let told = |event: &PathEvent| matches!(event, PathEvent::Mtu { found: 1432, .. });
    assert_eq!(network.hosts[CLIENT].count_of_paths(told), 1);
    assert!(!check(&mut network, 1500), "no news");
}

#[test]
fn an_idle_session_sends_no_padded_probes() {
    let mut network = Network::established(Setup::new(7, &[20]));
    network.run(millis(10_000));
    network.captured = Some(Vec::new());
    network.run(millis(300_000));
    let captured = network.captured.take().unwrap();
    assert!(captured.iter().all(|(_, _, wire)| wire.bytes.len() < 400));
}
