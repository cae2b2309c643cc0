//! Every kind of bad datagram, sent from the peer's own address while TCP runs: one counter each, nothing of it reaches the inner network, and the stream
//! arrives.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use crate::hosts::traffic::tcp_both_ways;
use crate::hosts::{Daemon, Host, Pair};
use crate::support::{drain, gre, udp_packet, wait_for_daemon_drop, wait_for_drop, wait_for_echo};

const TCP_BYTES: usize = 8_000_000;
/// Number of times that each datagram is sent.
const TIMES: u64 = 25;
/// The address at which `a` listens.
const TARGET: &str = "10.71.1.1:4754";
/// Time without a packet after which no more is expected.
const SILENCE: Duration = Duration::from_millis(200);

#[test]
fn of_no_connection() {
    let inner = udp_packet("10.72.0.2", "10.72.0.1", 9, b"hello");
    let with = |header: &[u8]| [header, &inner].concat();
    let bad = [
        ("truncated", vec![]),
        ("truncated", vec![0x10]),
        ("truncated", vec![0x00, 0x00, 0x08]),
        // Flags that announce more than is there.
        ("truncated", vec![0x10, 0x00, 0x08, 0x00]),
        ("truncated", vec![0xb0, 0x00, 0x08, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("version", with(&[0x00, 0x01, 0x08, 0x00])),
        ("version", with(&[0x10, 0x07, 0x08, 0x00, 0, 0, 0, 1])),
        ("reserved_flags", with(&[0x40, 0x00, 0x08, 0x00])),
        ("reserved_flags", with(&[0x08, 0x00, 0x08, 0x00])),
        ("reserved_flags", with(&[0x04, 0x00, 0x08, 0x00])),
        ("unknown_protocol", with(&[0x00, 0x00, 0x65, 0x58])),
        ("unknown_protocol", vec![0; 65_507]),
        ("control", with(&[0x00, 0x00, 0x88, 0xb5])),
        ("control", vec![0x00, 0x00, 0x88, 0xb5]),
        ("checksum", with(&[0x80, 0x00, 0x08, 0x00, 0x12, 0x34, 0, 0])),
        // The connection has no key.
        ("wrong_key", with(&[0x20, 0x00, 0x08, 0x00, 0, 0, 0, 7])),
    ];
    check(
        &bad,
        |host| host.udp("10.71.1.2:0"),
        |daemon, counter, count| {
            wait_for_daemon_drop(daemon, counter, count);
        },
    );
}

#[test]
fn from_an_unknown_address() {
    let datagram = [gre(0), udp_packet("10.72.0.2", "10.72.0.1", 9, b"hello")].concat();
    let stranger = |host: &Host| {
        host.add_address("line1", "10.71.1.3/24");
        host.udp("10.71.1.3:0")
    };
    check(&[("unknown_sender", datagram)], stranger, wait_for_daemon_drop);
}

#[test]
fn of_a_connection() {
    const V4: [u8; 4] = [0x00, 0x00, 0x08, 0x00];
    const V6: [u8; 4] = [0x00, 0x00, 0x86, 0xdd];
    let inner = udp_packet("10.72.0.2", "10.72.0.1", 9, b"hello");
    let mut long = inner.clone();
    long[2..4].copy_from_slice(&u16::MAX.to_be_bytes());
    let mut short = inner.clone();
    short[2..4].copy_from_slice(&19_u16.to_be_bytes());
    let mut huge = vec![0; 65_507 - V4.len()];
    huge[..inner.len()].copy_from_slice(&long);
    let bad = [
        ("malformed", [V4.as_slice(), &inner[..19]].concat()),
        ("malformed", [V4.as_slice(), &long].concat()),
        ("malformed", [V4.as_slice(), &short].concat()),
        ("malformed", V4.to_vec()),
        ("malformed", V6.to_vec()),
        ("malformed", [V4.as_slice(), &huge].concat()),
        ("inner_version", [V6.as_slice(), &inner].concat()),
        (
            "foreign_source",
            [V4.as_slice(), &udp_packet("10.99.0.1", "10.72.0.1", 9, b"x")].concat(),
        ),
        ("multicast", [V4.as_slice(), &udp_packet("10.72.0.2", "224.0.0.5", 9, b"x")].concat()),
    ];
    check(&bad, |host| host.udp("10.71.1.2:0"), wait_for_drop);
}

#[test]
fn marked_as_congested_where_no_mark_can_be_carried() {
    let inner = udp_packet("10.72.0.2", "10.72.0.1", 9, b"x");
    let datagram = [&[0x00, 0x00, 0x08, 0x00], inner.as_slice()].concat();
    let congested = |host: &Host| {
        let socket = host.udp("10.71.1.2:0");
        socket2::SockRef::from(&socket).set_tos_v4(0b11).unwrap();
        socket
    };
    check(&[("ecn", datagram)], congested, wait_for_drop);
}

#[test]
fn without_the_key_that_the_connection_has() {
    let pair = Pair::with_lines(1);
    let mut configs = pair.configs();
    configs[0].connection("tunnel").set("key", 5);
    configs[1].connection("tunnel").set("key", 5);
    let [a, _b] = pair.start(&configs);
    let impostor = pair.b.udp("10.71.1.2:0");
    let receiver = pair.a.udp("10.72.0.1:9");
    let inner = udp_packet("10.72.0.2", "10.72.0.1", 9, b"hello");
    let with_key = |key: u8| [[0x20, 0, 8, 0, 0, 0, 0, key].as_slice(), &inner].concat();
    impostor.send_to(&[gre(0), inner.clone()].concat(), TARGET).unwrap();
    wait_for_daemon_drop(&a, "missing_key", 1);
    impostor.send_to(&with_key(6), TARGET).unwrap();
    wait_for_daemon_drop(&a, "wrong_key", 1);
    assert!(drain(&receiver, SILENCE).is_empty(), "packets without the key are delivered");
    // With the key it is: nothing else is wrong with it.
    impostor.send_to(&with_key(5), TARGET).unwrap();
    assert!(drain(&receiver, SILENCE) == [b"hello"], "the packet with the key arrives");
    wait_for_echo(&pair.a, &pair.b);
}

#[test]
fn of_the_largest_size_it_is_delivered() {
    let pair = Pair::with_lines(1);
    let [a, _b] = pair.start(&pair.configs());
    let impostor = pair.b.udp("10.71.1.2:0");
    let receiver = pair.a.udp("10.72.0.1:9");
    let payload: Vec<u8> = (0..65_507 - 4 - 28).map(|at: u32| at as u8).collect();
    let inner = udp_packet("10.72.0.2", "10.72.0.1", 9, &payload);
    let datagram = [[0x00, 0x00, 0x08, 0x00].as_slice(), &inner].concat();
    assert_eq!(datagram.len(), 65_507, "the largest there is over IPv4");
    impostor.send_to(&datagram, TARGET).unwrap();
    assert!(drain(&receiver, Duration::from_secs(2)) == [payload], "it arrives whole");
    let mut drops = crate::hosts::counted(&a.show().daemon.drops);
    // The kernel sends these to its neighbours on every new device.
    drops.remove("multicast");
    assert_eq!(drops, BTreeMap::new());
    wait_for_echo(&pair.a, &pair.b);
}

fn check(
    bad: &[(&str, Vec<u8>)],
    socket: impl Fn(&Host) -> UdpSocket,
    expect: impl Fn(&Daemon, &str, u64),
) {
    let pair = Pair::with_lines(1);
    let [a, b] = pair.start(&pair.configs());
    let socket = socket(&pair.b);
    // Whatever bad datagrams carry is for this address and port.
    let receiver = pair.a.udp("10.72.0.1:9");
    thread::scope(|scope| {
        let stream = scope.spawn(|| tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", TCP_BYTES));
        for _ in 0..TIMES {
            for (_, datagram) in bad {
                socket.send_to(datagram, TARGET).unwrap();
            }
            thread::sleep(Duration::from_millis(2));
        }
        stream.join().unwrap();
    });
    let mut counters: BTreeMap<&str, u64> = BTreeMap::new();
    for (counter, _) in bad {
        *counters.entry(counter).or_default() += TIMES;
    }
    for (counter, count) in counters {
        expect(&a, counter, count);
    }
    assert!(drain(&receiver, SILENCE).is_empty(), "nothing of them is delivered");
    let reorder = a.connection("tunnel").reorder;
    assert_eq!((reorder.stray, reorder.duplicate, reorder.overflow), (0, 0, 0), "{reorder:?}");
    for daemon in [a, b] {
        daemon.stop();
    }
}
