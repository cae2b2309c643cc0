use std::time::Duration;

use mpt_link::{Bitrate, Params, QueueLimit};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{IpRecvTos, Ipv4Tos, UdpGsoSegment};

use crate::harness::{Emulator, Hosts, introduce, receive};

/// "Congestion experienced" and "ECN-capable transport (0)", as bits of what IPv4 calls the type of service.
const CE: u8 = 0b11;
const ECT_0: u8 = 0b10;
const SIZE: usize = 958;
const COUNT: usize = 40;

/// Sends a batch of datagrams of 1000 bytes on the wire, 1 ms each, through a queue that marks above 10 ms.
fn marks(tos: u8, plain: bool) -> ([u64; 2], Vec<u8>) {
    let hosts = Hosts::new();
    let params = Params {
        rate: Bitrate::new(8_000_000),
        queue: QueueLimit::Time(Duration::from_millis(100)),
        mark_above: Some(Duration::from_millis(10)),
        ..Params::default()
    };
    let cables = [hosts.cable(0, &[0], &[])];
    let mut emulator = Emulator::start(&hosts, &[params], &cables, plain);
    introduce(&hosts, 0);
    let (from, to) = (hosts.socket(0, 0), hosts.socket(0, 1));
    from.connect(to.local_addr().unwrap()).unwrap();
    setsockopt(&from, UdpGsoSegment, &(SIZE as i32)).unwrap();
    setsockopt(&from, Ipv4Tos, &i32::from(tos)).unwrap();
    setsockopt(&to, IpRecvTos, &true).unwrap();
    assert_eq!(from.send(&vec![0; SIZE * COUNT]).unwrap(), SIZE * COUNT);
    let arrived = receive(&to).into_iter().map(|datagram| datagram.tos.expect("a type of service"));
    let arrived: Vec<u8> = arrived.collect();
    let channel = emulator.report()["channels"][0].clone();
    let count = |kind: &str| channel[kind]["packets"].as_u64().unwrap();
    ([count("marked"), count("queue_full")], arrived)
}

#[test]
fn and_drops_the_rest() {
    for plain in [false, true] {
        let (counted, arrived) = marks(ECT_0, plain);
        let marked = arrived.iter().filter(|&&tos| tos == CE).count();
        assert_eq!(arrived.len(), COUNT, "nothing is dropped");
        // Eleven come while 10 ms or less wait, and those who read them one by one may take a moment longer.
        assert!((25..=29).contains(&marked), "{marked}");
        assert_eq!(counted, [marked as u64, 0]);
        assert!(arrived.iter().all(|&tos| tos == CE || tos == ECT_0), "{arrived:?}");

        let (counted, arrived) = marks(0, plain);
        assert_eq!(counted, [0, (COUNT - arrived.len()) as u64]);
        assert!((11..=15).contains(&arrived.len()), "{}", arrived.len());
        assert!(arrived.iter().all(|&tos| tos == 0));
    }
}
