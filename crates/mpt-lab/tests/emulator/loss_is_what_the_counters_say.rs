use std::collections::HashSet;
use std::time::Duration;

use mpt_link::{Loss, Params, Probability};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::UdpGsoSegment;

use crate::harness::{Emulator, Hosts, introduce, receive};

const SIZE: usize = 100;
const BATCHES: usize = 500;
const BATCH: usize = 40;

#[test]
fn also_of_segments_of_super_packets() {
    let hosts = Hosts::new();
    let loss = Loss::Bernoulli(Probability::new(0.1).unwrap());
    let duplication = Probability::new(0.05).unwrap();
    let delay = Duration::from_millis(3);
    let params = Params { loss, duplication, delay, ..Params::default() };
    let cables = [hosts.cable(0, &[0], &[])];
    let mut emulator = Emulator::start(&hosts, &[params], &cables, false);
    introduce(&hosts, 0);
    let (from, to) = (hosts.socket(0, 0), hosts.socket(0, 1));
    from.connect(to.local_addr().unwrap()).unwrap();
    setsockopt(&from, UdpGsoSegment, &(SIZE as i32)).unwrap();
    let before = emulator.packets(0);
    let receiver = std::thread::spawn(move || receive(&to));
    for batch in 0..BATCHES {
        let datagram = |index| {
            let mut datagram = vec![0; SIZE];
            datagram[..4].copy_from_slice(&((batch * BATCH + index) as u32).to_be_bytes());
            datagram
        };
        let payload: Vec<u8> = (0..BATCH).flat_map(datagram).collect();
        assert_eq!(from.send(&payload).unwrap(), payload.len());
        std::thread::sleep(Duration::from_millis(1));
    }
    let arrived = receiver.join().unwrap();
    let after = emulator.packets(0);
    let [offered, full, lost, twice] = [0, 1, 2, 3].map(|kind| after[kind] - before[kind]);
    assert_eq!((offered, full), ((BATCHES * BATCH) as u64, 0), "each segment counts");
    assert_eq!(arrived.len() as u64, offered - lost + twice);
    let numbers: HashSet<&[u8]> = arrived.iter().map(|datagram| &datagram.payload[..4]).collect();
    assert_eq!(numbers.len() as u64, offered - lost, "copies are of what arrived");
    // 2000 and 900 expected, 42 and 29 the standard deviations: the seed is always the same.
    assert!((1800..2200).contains(&lost) && (760..1040).contains(&twice), "{lost}, {twice}");
}
