//! Packets of a peer that is no mptd, and pictures of a host.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use mpt_wire::checksum::Sum;

pub(crate) use crate::hosts::Stream;
use crate::hosts::{Daemon, Host, PATIENCE, wait_for};

/// GRE header with a sequence number, version 0, IPv4.
pub(crate) fn gre(sequence: u32) -> Vec<u8> {
    [&[0x10, 0x00, 0x08, 0x00], sequence.to_be_bytes().as_slice()].concat()
}

/// An IPv4 packet with a UDP datagram, without UDP checksum.
pub(crate) fn udp_packet(source: &str, destination: &str, port: u16, payload: &[u8]) -> Vec<u8> {
    let [source, destination]: [Ipv4Addr; 2] = [source, destination].map(|it| it.parse().unwrap());
    let udp_len = 8 + payload.len() as u16;
    let mut packet = vec![0x45, 0];
    packet.extend((20 + udp_len).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    let mut sum = Sum::new();
    sum.add_bytes(&packet);
    let checksum = sum.finish().to_be_bytes();
    packet[10..12].copy_from_slice(&checksum);
    packet.extend(port.to_be_bytes());
    packet.extend(port.to_be_bytes());
    packet.extend(udp_len.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

/// Everything in a UDP socket, until nothing more comes for a while.
pub(crate) fn drain(socket: &UdpSocket, quiet: Duration) -> Vec<Vec<u8>> {
    let mut datagrams = Vec::new();
    let mut buffer = vec![0; 70_000];
    socket.set_read_timeout(Some(quiet)).unwrap();
    while let Ok(length) = socket.recv(&mut buffer) {
        datagrams.push(buffer[..length].to_vec());
    }
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    datagrams
}

/// Waits until a datagram gets through the tunnel and back.
pub(crate) fn wait_for_echo(from: &Host, to: &Host) {
    let [here, there] = [from.udp("10.72.0.1:0"), to.udp("10.72.0.2:0")];
    for socket in [&here, &there] {
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    }
    let mut buffer = [0; 8];
    wait_for("an echo through the tunnel", || {
        here.send_to(b"question", there.local_addr().unwrap()).ok()?;
        let (_, from): (_, SocketAddr) = there.recv_from(&mut buffer).ok()?;
        there.send_to(b"answer", from).ok()?;
        here.recv_from(&mut buffer).ok()
    });
}

/// Waits until a counter of packets without connection has this value.
pub(crate) fn wait_for_daemon_drop(daemon: &Daemon, counter: &str, value: u64) {
    let mut last = 0;
    wait_for_value(counter, value, || {
        last = daemon.daemon_drops(counter);
        last
    });
}

/// Waits until a counter of the connection `tunnel` has this value.
pub(crate) fn wait_for_drop(daemon: &Daemon, counter: &str, value: u64) {
    wait_for_value(counter, value, || daemon.drops("tunnel", counter));
}

fn wait_for_value(counter: &str, value: u64, mut ask: impl FnMut() -> u64) {
    let what = format!("counter {counter} is {value}");
    wait_for(&what, || {
        let now = ask();
        assert!(now <= value, "counter {counter} is {now}, which is more than {value}");
        (now == value).then_some(())
    });
}

/// Links, addresses, routes and rules, as `ip` shows them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Picture(Vec<String>);

impl Picture {
    pub(crate) fn of(host: &Host) -> Self {
        let questions = [
            "-o link",
            "-o -4 addr",
            "-o -6 addr",
            "-4 route show table all",
            "-6 route show table all",
            "-4 rule",
            "-6 rule",
        ];
        let lines = questions.iter().flat_map(|question| {
            let answer = host.ip(question);
            // Link-local addresses come and go with duplicate address detection.
            let lines = answer.lines().filter(|line| !line.contains("fe80:"));
            let mut lines: Vec<_> = lines.map(|line| format!("{question}: {line}")).collect();
            lines.sort();
            lines
        });
        Self(lines.collect())
    }

    /// Waits until a host looks like this.
    pub(crate) fn wait_for(&self, host: &Host) {
        let mut last = Self::of(host);
        let start = Instant::now();
        while last != *self {
            if start.elapsed() > PATIENCE {
                let more: Vec<_> = last.0.iter().filter(|line| !self.0.contains(line)).collect();
                let less: Vec<_> = self.0.iter().filter(|line| !last.0.contains(line)).collect();
                panic!("left behind: {more:#?}\nmissing: {less:#?}");
            }
            thread::sleep(Duration::from_millis(20));
            last = Self::of(host);
        }
    }
}

/// Waits until a path of the connection `tunnel` is up, or down.
pub(crate) fn wait_for_state(daemon: &Daemon, path: &str, state: mpt_api::PathState) {
    wait_for(&format!("{path} is {state:?}"), || {
        (daemon.path("tunnel", path).state == state).then_some(())
    });
}

/// Waits until each of these paths of the connection `tunnel` has sent something more.
pub(crate) fn wait_for_use(daemon: &Daemon, paths: &[&str]) {
    for path in paths {
        let before = daemon.path("tunnel", path).sent.packets;
        wait_for(&format!("{path} is used"), || {
            (daemon.path("tunnel", path).sent.packets > before + 20).then_some(())
        });
    }
}

/// What became of the packets that a host sent over an interface.
pub(crate) struct SentOver {
    /// Packets that left; from a TUN device, those that the daemon has read.
    pub(crate) packets: u64,
    /// Packets for which the queue had no room.
    pub(crate) dropped: u64,
}

/// The kernel's counters of an interface.
pub(crate) fn sent_over(host: &Host, interface: &str) -> SentOver {
    let text = host.run(|| std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap();
    let name = format!("{interface}:");
    let line = text.lines().find(|line| line.trim_start().starts_with(&name)).unwrap();
    let number = |column| line.split_whitespace().nth(column).unwrap().parse().unwrap();
    SentOver { packets: number(10), dropped: number(12) }
}
