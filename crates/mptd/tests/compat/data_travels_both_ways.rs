//! Data over two paths in both directions, numbered and not.

use std::time::Duration;

use crate::hosts::traffic::{deliver, tcp_both_ways};
use crate::hosts::{Capture, Line, Pair};
use crate::prototype::{PORT, Setup, counter};

#[test]
fn every_byte_arrives_whatever_is_numbered() {
    for window in [900, 0] {
        let pair = Pair::with_lines(2);
        let (daemon, mut prototype) = Setup { window, ..Setup::default() }.start(&pair);
        deliver(&pair.a.udp("10.72.0.1:0"), &pair.b.udp("10.72.0.2:7"), 500);
        deliver(&pair.b.udp("10.72.0.2:0"), &pair.a.udp("10.72.0.1:7"), 500);
        tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:7000", 2_000_000);
        let status = prototype.status();
        for path in 0..2 {
            assert!(status["paths"][path]["sent"].as_u64() > Some(250), "{status}");
            assert!(status["paths"][path]["received"].as_u64() > Some(250), "{status}");
        }
        assert_eq!((&status["late"], &status["too_big"]), (&0.into(), &0.into()), "{status}");
        let sent = daemon.packets_sent("tunnel");
        assert!(sent.iter().all(|&packets| packets > 250), "{sent:?}");
        let connection = daemon.connection("tunnel");
        assert_eq!(crate::hosts::counted(&connection.drops), mpt_api::Counters::new());
    }
}

/// The share of each path of the prototype is as its weights say, and ours likewise; nothing depends on theirs being ours.
#[test]
fn numbers_count_from_0_over_all_paths() {
    let pair = Pair::new(&[Line::plain(), Line::plain()]);
    let setup = Setup { weights: vec![3, 1], ..Setup::default() };
    let capture = Capture::start(&pair.a);
    let (daemon, mut prototype) = setup.start(&pair);
    deliver(&pair.a.udp("10.72.0.1:0"), &pair.b.udp("10.72.0.2:7"), 400);
    deliver(&pair.b.udp("10.72.0.2:0"), &pair.a.udp("10.72.0.1:7"), 400);
    let status = prototype.status();
    assert_eq!(status["paths"][0]["sent"], 300, "{status}");
    assert_eq!(status["paths"][1]["sent"], 100, "{status}");
    assert_eq!(daemon.packets_sent("tunnel"), [200, 200]);
    assert_eq!((&status["number"], &status["expected"]), (&400.into(), &400.into()));

    let sent: Vec<_> = capture.stop();
    let mut numbers = Vec::new();
    let mut keepalives = 0;
    for packet in sent.iter().filter(|packet| packet.outgoing) {
        let udp = udp_from(&packet.packet, [10, 71]);
        let Some((ports, payload)) = udp.filter(|(ports, _)| ports.1 == PORT) else { continue };
        assert_eq!(ports, (PORT, PORT), "from the configured port to the configured port");
        match payload[..4] {
            [0x10, 0, 8, 0] => {
                numbers.push(u32::from_be_bytes(payload[4..8].try_into().unwrap()));
            }
            [0, 0, 8, 0] => {
                let beat = "a100000000040000\
                            00000000000000000000ffff0a48000100000000000000000000ffff0a480002";
                assert_eq!(hex(&payload[4..]), beat);
                keepalives += 1;
            }
            _ => panic!("{}", hex(payload)),
        }
    }
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..400));
    assert!(keepalives >= 2);
    assert_eq!(counter(&daemon, "unknown_data"), 0);
}

/// Keepalives travel on every path from the start, and go on.
#[test]
fn keepalives_go_on() {
    let pair = Pair::with_lines(2);
    let (daemon, mut prototype) = Setup::default().start(&pair);
    let before = prototype.status();
    std::thread::sleep(Duration::from_millis(3500));
    let after = prototype.status();
    for path in 0..2 {
        let count = |status: &serde_json::Value| status["paths"][path]["keepalives"].as_u64();
        let more = count(&after).unwrap() - count(&before).unwrap();
        assert!((3..=4).contains(&more), "{more} in 3.5 s");
    }
    assert!(counter(&daemon, "keepalives_received") >= 6);
}

/// Ports and payload of an IPv4 UDP datagram that comes from such a network.
fn udp_from(ip: &[u8], network: [u8; 2]) -> Option<((u16, u16), &[u8])> {
    let is = ip.first()? >> 4 == 4 && *ip.get(9)? == 17 && ip.get(12..14)? == network;
    let udp = ip.get(20..).filter(|_| is)?;
    let port = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
    Some(((port(0), port(2)), &udp[8..]))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
