//! Small packets behind gaps, far more than `buffer_limit` holds: memory stays bounded, and every packet is delivered.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use crate::hosts::{Daemon, Pair};
use crate::support::{gre, udp_packet};

const PACKETS: u32 = 60_000;
const MIB: u64 = 1 << 20;
const LIMIT: u64 = 2 * MIB;

#[test]
fn and_those_beyond_are_delivered_at_once() {
    let pair = Pair::with_lines(1);
    let mut config = pair.configs()[0].clone();
    config.daemon().set("buffer_limit", "2 MiB");
    let tunnel = config.connection("tunnel");
    tunnel.set("window", 65_535).set("max_delay", "3 s").set("early_release", false);
    let mut daemon = Daemon::start(&pair.a, &config);
    daemon.wait_until_up();
    let peer = pair.b.udp("10.71.1.2:0");
    let receiver = pair.a.udp("10.72.0.1:5000");
    let send = |number: u32| {
        let inner = udp_packet(
            "10.72.0.2",
            "10.72.0.1",
            5000,
            &[&number.to_be_bytes()[..], &[0; 60]].concat(),
        );
        peer.send_to(&[gre(number), inner].concat(), "10.71.1.1:4754").unwrap();
    };
    let before = resident(&daemon);
    thread::scope(|scope| {
        // All the time, since what comes out at once is more than a socket holds.
        let contents = scope.spawn(|| contents(&receiver));
        // Every other number never comes.
        for number in 0..PACKETS {
            send(2 * number);
            if number % 1000 == 0 {
                thread::sleep(Duration::from_millis(5));
                let daemon = daemon.show().daemon;
                assert!(daemon.buffer_bytes <= daemon.buffer_limit, "{daemon:?}");
                assert!(daemon.buffer_limit <= LIMIT, "{daemon:?}");
            }
        }
        assert_eq!(contents.join().unwrap(), PACKETS);
    });
    let reorder = daemon.connection("tunnel").reorder;
    let counted =
        reorder.in_order + reorder.after_gap + reorder.late + reorder.overflow + reorder.stray;
    assert_eq!((counted, reorder.duplicate), (u64::from(PACKETS), 0), "{reorder:?}");
    assert!(reorder.overflow > 1, "the limit was reached more than once: {reorder:?}");
    let grown = resident(&daemon).saturating_sub(before);
    // Waiting packets, and 32 bytes for each place of the window.
    let bound = LIMIT + 32 * 65_536;
    assert!(grown <= bound + MIB, "{grown} bytes more than before, {bound} were expected at most");
    daemon.stop();
}

/// Receives until all are there, or nothing more comes; each may come once.
fn contents(receiver: &UdpSocket) -> u32 {
    let mut contents = BTreeSet::new();
    let mut buffer = [0; 100];
    while (contents.len() as u32) < PACKETS && receiver.recv(&mut buffer).is_ok() {
        let number = u32::from_be_bytes(buffer[..4].try_into().unwrap());
        assert!(contents.insert(number), "{number} twice");
    }
    contents.len() as u32
}

/// Resident memory of the process in bytes.
fn resident(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = line.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    kilobytes * 1024
}
