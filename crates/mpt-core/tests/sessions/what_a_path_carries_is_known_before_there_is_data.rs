//! A survey shows what a path carries before there is data: probes that leave back to back arrive one by one, and the
//! peer says when.

use std::time::Duration;

use mpt_core::Mapping;
use mpt_link::{Bitrate, Change};

use super::network::*;

/// The delays of the paths, in milliseconds.
const DELAYS: [u64; 2] = [10, 40];
/// The rates of the paths to the server and back, in Mbit/s.
const RATES: [[u64; 2]; 2] = [[5, 2], [200, 20]];

/// The rates in Mbit/s that a side gives its paths after some seconds without data.
fn learnt(side: usize) -> Vec<f64> {
    let setup = Setup { mapping: Mapping::Adaptive, ..Setup::new(1, &DELAYS) };
    let mut network = Network::established(setup);
    for (path, rates) in RATES.iter().enumerate() {
        for (side, megabits) in [CLIENT, SERVER].into_iter().zip(rates) {
            network.change(side, path, Change::Rate(Bitrate::new(1_000_000 * megabits)));
        }
    }
    network.run(Duration::from_secs(5));
    let host = &network.hosts[side];
    let connection = host.node.tunnels().connection(host.connection).unwrap();
    connection.estimates(network.now()).map(|(_, it)| it.rate as f64 / 1e6).collect()
}

#[test]
fn in_each_direction() {
    for (side, direction) in [(CLIENT, 0), (SERVER, 1)] {
        let learnt = learnt(side);
        for (rates, learnt) in RATES.iter().zip(&learnt) {
            let share = learnt / rates[direction] as f64;
            assert!((0.85..1.0).contains(&share), "{learnt} of {rates:?} Mbit/s");
        }
    }
}

/// Returns how many probes of trains the client has sent over a path since frames are captured. Each is a frame of 1,200
/// bytes.
fn captured_train_probes(network: &mut Network, path: usize) -> usize {
    let captured = network.captured.take().unwrap();
    let is_of_train = |(side, over, wire): &&(Side, usize, Wire)| {
        (*side, *over) == (CLIENT, path) && (1_200..1_216).contains(&wire.bytes.len())
    };
    captured.iter().filter(is_of_train).count()
}

/// Returns how many probes of trains a client sends over the first path in three seconds, while a packet of data leaves over
/// it at this interval.
fn train_probes(interval: Option<Duration>) -> usize {
    let setup = Setup { mapping: Mapping::Adaptive, ..Setup::new(1, &DELAYS) };
    let mut network = Network::established(setup);
    network.captured = Some(Vec::new());
    let time = Duration::from_secs(3);
    match interval {
        Some(interval) => network.run_traffic(time, interval),
        None => network.run(time),
    }
    captured_train_probes(&mut network, 0)
}

#[test]
fn data_is_not_delayed_by_trains() {
    let (without, with) = (train_probes(None), train_probes(Some(millis(1))));
    assert_eq!(without, 60);
    assert!(with <= 4, "{with} beside data, {without} without");
}

#[test]
fn a_call_is_no_reason_to_send_no_trains() {
    assert_eq!(train_probes(Some(millis(20))), 60);
}

#[test]
fn a_question_whose_answer_was_lost_is_asked_again_soon() {
    let setup = Setup { mapping: Mapping::Adaptive, ..Setup::new(1, &DELAYS) };
    let mut network = Network::new(setup);
    // A path that has come up is asked about at once.
    network.expect(Duration::from_secs(3), "path 1 works", |it| it.is_up(CLIENT, 1));
    network.cut(SERVER, 1, true);
    network.run(millis(100));
    network.cut(SERVER, 1, false);
    network.captured = Some(Vec::new());
    network.run(Duration::from_secs(4));
    assert_eq!(captured_train_probes(&mut network, 1), 60);
}
