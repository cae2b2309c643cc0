//! Speed tests of paths: what is found is right, no path is taken for dead, and there is one at a time.

use mpt_core::liveness::State;
use mpt_core::session::{SessionId, TestConfig, TestRefused};
use mpt_link::{Bitrate, Change, QueueLimit};

use super::network::*;

/// A network whose paths carry so many Mbit/s each way, with a queue of so many milliseconds.
fn network(seed: u64, rates: &[u64], queue: u64) -> Network {
    let mut network = Network::established(Setup::new(seed, &vec![10; rates.len()]));
    for (path, &rate) in rates.iter().enumerate() {
        for side in SIDES {
            network.change(side, path, Change::Queue(QueueLimit::Time(millis(queue))));
            network.change(side, path, Change::Rate(Bitrate::new(rate * 1_000_000)));
        }
    }
    network
}

fn start(network: &mut Network, side: Side, path: usize, number: u64) -> Result<(), TestRefused> {
    network.at(side, |host, now| {
        let config =
            TestConfig { number, path: host.paths[path], duration: millis(500), limit: None };
        host.node.start_test(now, host.session, config)
    })
}

/// Measures the rate of a path in Mbit/s. Data flows meanwhile, a packet every 10 ms.
fn measure(network: &mut Network, side: Side, path: usize, number: u64) -> f64 {
    start(network, side, path, number).expect("it works");
    for _ in 0..1000 {
        network.run_traffic(millis(10), millis(10));
        let host = &network.hosts[side];
        let test = host.node.sessions().test(host.session, number).expect("it was begun");
        if test.finished {
            let found = test.throughput.expect("the path works");
            return found.bytes as f64 * 8.0 / found.duration.as_secs_f64() / 1e6;
        }
    }
    panic!("it does not end\n{}", network.describe());
}

#[test]
fn both_ways_one_after_the_other() {
    for (seed, queue) in [(0, 50), (1, 2000)] {
        let mut network = network(seed, &[20, 50], queue);
        network.run_traffic(millis(500), millis(10));
        for (path, rate) in [(0, 20.0), (1, 50.0)] {
            for side in SIDES {
                let found = measure(&mut network, side, path, path as u64);
                let ratio = found / rate;
                assert!((0.9..=1.1).contains(&ratio), "{found} instead of {rate} from {side}");
            }
        }
        for side in SIDES {
            for path in [0, 1] {
                assert_eq!(network.path(side, path).flaps, 0, "{}", network.describe());
                assert_eq!(network.hosts[side].changes(path, State::Up), 1);
            }
        }
        network.run_traffic(millis(2500), millis(10));
        assert!(network.is_all_up());
    }
}

#[test]
fn while_nothing_else_flows() {
    let mut network = network(2, &[20], 200);
    network.run(std::time::Duration::from_secs(60));
    start(&mut network, SERVER, 0, 1).unwrap();
    network.run(std::time::Duration::from_secs(3));
    let host = &network.hosts[SERVER];
    let test = host.node.sessions().test(host.session, 1).unwrap();
    assert!(test.finished && test.throughput.is_some());
    assert_eq!(network.path(SERVER, 0).flaps, 0);
}

#[test]
fn one_at_a_time() {
    let mut network = network(3, &[20, 50], 50);
    start(&mut network, CLIENT, 0, 1).unwrap();
    assert_eq!(start(&mut network, CLIENT, 1, 2), Err(TestRefused::Busy));
    network.run(millis(3000));
    let host = &network.hosts[CLIENT];
    assert!(host.node.sessions().test(host.session, 1).unwrap().finished);
    assert_eq!(host.node.sessions().test(host.session, 2), None);
    assert_eq!(start(&mut network, CLIENT, 1, 2), Ok(()));
}

#[test]
fn but_none_that_does_not_work() {
    let mut network = network(4, &[20, 50], 50);
    start(&mut network, CLIENT, 0, 1).unwrap();
    network.run_traffic(millis(300), millis(10));
    network.cut_both(0, true);
    network.run_traffic(millis(5000), millis(10));
    let host = &network.hosts[CLIENT];
    let test = host.node.sessions().test(host.session, 1).unwrap();
    assert_eq!((test.finished, test.throughput), (true, None));
    assert_eq!(start(&mut network, CLIENT, 0, 2), Err(TestRefused::Down));
    assert!(network.is_up_both(1));
    network.at(CLIENT, |host, now| {
        let config =
            TestConfig { number: 3, path: host.paths[1], duration: millis(100), limit: None };
        let nobody = SessionId { number: host.session.number + 1, ..host.session };
        assert_eq!(host.node.start_test(now, nobody, config), Err(TestRefused::NoSession));
    });
}
