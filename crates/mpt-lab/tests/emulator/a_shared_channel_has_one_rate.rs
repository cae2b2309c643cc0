use std::time::Duration;

use mpt_link::{Bitrate, Params};

use crate::harness::{Datagram, Emulator, Hosts, OVERHEAD, introduce, receive};

const SIZE: usize = 1000;
const COUNT: usize = 150;

#[test]
fn for_all_cables_and_both_directions() {
    let hosts = Hosts::new();
    let shared = Params { rate: Bitrate::new(10_000_000), ..Params::default() };
    let delay = Params { delay: Duration::from_millis(10), ..Params::default() };
    // Two cables: there through a channel of their own and the shared one, back through that alone.
    let cables = [hosts.cable(0, &[1, 0], &[0]), hosts.cable(1, &[1, 0], &[0])];
    let mut emulator = Emulator::start(&hosts, &[shared, delay], &cables, false);
    (0..2).for_each(|cable| introduce(&hosts, cable));
    let receivers: Vec<_> = [(0, 0), (1, 0), (0, 1)]
        .into_iter()
        .map(|(cable, end)| {
            let (from, to) = (hosts.socket(cable, end), hosts.socket(cable, 1 - end));
            from.connect(to.local_addr().unwrap()).unwrap();
            (0..COUNT).for_each(|_| assert_eq!(from.send(&[0; SIZE]).unwrap(), SIZE));
            std::thread::spawn(move || receive(&to))
        })
        .collect();
    let arrived: Vec<Vec<Datagram>> =
        receivers.into_iter().map(|receiver| receiver.join().unwrap()).collect();
    assert!(arrived.iter().all(|datagrams| datagrams.len() == COUNT), "no queue was limited");
    let times = || arrived.iter().flatten().map(|datagram| datagram.at);
    let time = (times().max().unwrap() - times().min().unwrap()).as_secs_f64();
    let frame = (SIZE + OVERHEAD) as f64 * 8.0 / 10e6;
    let expected = frame * (3 * COUNT - 1) as f64;
    // The transmitter may stand still until the first ones have passed the delay before it.
    let (least, late) = (expected, emulator.latest().as_secs_f64() + 1e-4);
    assert!((least - late..=expected + 0.01 + late).contains(&time), "{time}, not {expected}");
}
