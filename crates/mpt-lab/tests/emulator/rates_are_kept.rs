use mpt_link::{Bitrate, Params, QueueLimit};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::UdpGsoSegment;

use crate::harness::{Emulator, Hosts, OVERHEAD, introduce, receive};

const SIZE: usize = 1000;
const RATE: u64 = 10_000_000;

#[test]
fn and_what_the_queue_has_no_room_for_is_dropped() {
    let hosts = Hosts::new();
    let queue = QueueLimit::Packets(300);
    let params = Params { rate: Bitrate::new(RATE), queue, ..Params::default() };
    let cables = [hosts.cable(0, &[0], &[])];
    let mut emulator = Emulator::start(&hosts, &[params], &cables, false);
    introduce(&hosts, 0);
    let before = emulator.packets(0);
    // Half a second's worth, at once: the transmitter stands still only after the last one.
    let (from, to) = (hosts.socket(0, 0), hosts.socket(0, 1));
    from.connect(to.local_addr().unwrap()).unwrap();
    setsockopt(&from, UdpGsoSegment, &(SIZE as i32)).unwrap();
    (0..10).for_each(|_| assert_eq!(from.send(&[0; 60 * SIZE]).unwrap(), 60 * SIZE));
    let arrived = receive(&to);
    let after = emulator.packets(0);
    let [offered, full, lost, _] = [0, 1, 2, 3].map(|kind| after[kind] - before[kind]);
    assert_eq!((offered - full, lost), (arrived.len() as u64, 0));
    assert!(full > 0, "nothing was dropped of {offered}");
    // Between the first and the last one: their own time on the wire, but for how late either of them was.
    let frame = (SIZE + OVERHEAD) as f64 * 8.0 / RATE as f64;
    let expected = frame * (arrived.len() - 1) as f64;
    let (first, last) = (&arrived[0], &arrived[arrived.len() - 1]);
    let time = (last.at - first.at).as_secs_f64();
    let late = emulator.latest().as_secs_f64() + 1e-4;
    assert!((time - expected).abs() <= late, "{time} s instead of {expected}, {late} late at most");
}
