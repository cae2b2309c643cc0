use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use mpt_link::{Bitrate, Distribution, Jitter, Loss, Params, Probability, QueueLimit, Redraw};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{TcpCongestion, UdpGroSegment, UdpGsoSegment};

use crate::harness::{Emulator, Hosts, address, introduce, receive};

const BYTES: usize = 6_000_000;

/// Bytes that differ at every offset that matters.
fn random(length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    std::iter::repeat_with(|| random.u8(..)).take(length).collect()
}

/// Sends by TCP from one end to the other.
fn transfer(hosts: &Hosts, version: u8, data: &[u8]) -> Vec<u8> {
    let address = SocketAddr::new(address(0, 1, version), 4730);
    let listener = hosts.run(1, || TcpListener::bind(address)).unwrap();
    let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(10));
    let mut from = hosts.run(0, connect).unwrap();
    setsockopt(&from, TcpCongestion, &"cubic".into()).unwrap();
    let (mut to, _) = listener.accept().unwrap();
    to.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || from.write_all(data).unwrap());
        let mut received = Vec::new();
        to.read_to_end(&mut received).unwrap();
        received
    })
}

/// Errors that the stacks have counted: damaged headers and checksums.
fn errors(hosts: &Hosts) -> Vec<String> {
    let read = || {
        let snmp = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
        let rows: Vec<Vec<&str>> =
            snmp.lines().map(|line| line.split_ascii_whitespace().collect()).collect();
        let counters = rows.chunks(2).flat_map(|pair| pair[0].iter().zip(&pair[1]));
        counters
            .filter(|(name, value)| {
                ["InErrs", "InCsumErrors", "InHdrErrors"].contains(name) && **value != "0"
            })
            .map(|(name, value)| format!("{name} {value}"))
            .collect::<Vec<_>>()
    };
    (0..2).flat_map(|end| hosts.run(end, read)).collect()
}

fn arrives(params: Params, version: u8, plain: bool) {
    let hosts = Hosts::with_ipv6();
    let cables = [hosts.cable(0, &[0], &[0])];
    let mut emulator = Emulator::start(&hosts, &[params], &cables, plain);
    introduce(&hosts, 0);
    let data = random(BYTES);
    assert!(transfer(&hosts, version, &data) == data, "not what was sent");
    assert_eq!(errors(&hosts), [""; 0]);
    let [offered, ..] = emulator.packets(0);
    // Counted segment by segment, whatever they came in.
    assert!(offered as usize > BYTES / 1460, "{offered} packets");
}

fn limited() -> Params {
    Params {
        rate: Bitrate::from_megabits(200),
        queue: QueueLimit::Packets(100),
        delay: Duration::from_millis(1),
        ..Params::default()
    }
}

#[test]
fn by_tcp_over_ipv4() {
    arrives(limited(), 4, false);
}

#[test]
fn by_tcp_over_ipv6() {
    arrives(limited(), 6, false);
}

#[test]
fn by_tcp_frame_by_frame() {
    arrives(limited(), 4, true);
}

#[test]
fn by_tcp_over_a_link_that_loses_and_repeats_and_reorders() {
    let probability = |value| Probability::new(value).unwrap();
    let half_width = Duration::from_micros(200);
    let jitter =
        Jitter { distribution: Distribution::Uniform { half_width }, redraw: Redraw::EveryPacket };
    let params = Params {
        rate: Bitrate::from_megabits(500),
        jitter: Some(jitter),
        loss: Loss::Bernoulli(probability(0.001)),
        duplication: probability(0.01),
        ..limited()
    };
    arrives(params, 4, false);
}

#[test]
fn by_udp_in_batches_whether_the_receiver_takes_them_whole_or_not() {
    let hosts = Hosts::new();
    // A batch takes 2.5 ms: it is cut into eight datagrams, eight, sixteen and the rest, each run as long as it has waited.
    let params = Params { rate: Bitrate::from_megabits(200), ..Params::default() };
    let cables = [hosts.cable(0, &[0], &[])];
    let _emulator = Emulator::start(&hosts, &[params], &cables, false);
    introduce(&hosts, 0);
    let data = random(50 * 1200 + 700);
    for whole in [false, true] {
        let (from, to) = (hosts.socket(0, 0), hosts.socket(0, 1));
        from.connect(to.local_addr().unwrap()).unwrap();
        setsockopt(&from, UdpGsoSegment, &1200).unwrap();
        setsockopt(&to, UdpGroSegment, &whole).unwrap();
        assert_eq!(from.send(&data).unwrap(), data.len());
        let arrived = receive(&to);
        if whole {
            assert_eq!(arrived.len(), 4);
        } else {
            assert_eq!(arrived.len(), 51);
            assert!(arrived[..50].iter().all(|datagram| datagram.payload.len() == 1200));
        }
        let bytes: Vec<u8> = arrived.into_iter().flat_map(|datagram| datagram.payload).collect();
        assert!(bytes == data, "not what was sent");
        assert_eq!(errors(&hosts), [""; 0]);
    }
}
