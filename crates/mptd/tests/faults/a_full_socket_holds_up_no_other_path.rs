//! One line is slow, and so much waits for it that its socket is full; the other one does not notice.

use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use crate::hosts::traffic::{duplicates, receive_until_quiet, send_numbered};
use crate::hosts::{Daemon, Pair, wait_for};
use crate::support::sent_over;

const FAST_DATAGRAMS: u64 = 4000;
/// Number of datagrams for the slow line: more than a socket's send buffer, the queue behind it, and the daemon's own backlog together hold.
const SLOW_DATAGRAMS: u64 = 16_000;

#[test]
fn whose_flows_arrive_completely() {
    let pair = Pair::with_lines(2);
    // A long queue, which pushes back where a short one would drop.
    pair.a.tc("qdisc add dev line1 root tbf rate 1mbit burst 32kbit limit 100000000");
    // A packet that the kernel drops before the daemon reads it says nothing about the daemon.
    let mut configs = pair.configs();
    for config in &mut configs {
        config.connection("tunnel").set("mapping", "flow");
    }
    let [a, b] = pair.start(&configs);
    pair.a.ip("link set mpt0 txqueuelen 20000");
    let target: SocketAddr = "10.72.0.2:5000".parse().unwrap();
    let slow = flow_on(&pair, &a, "line1", target);
    let fast = flow_on(&pair, &a, "line2", target);
    let receiver = pair.b.udp("10.72.0.2:5000");
    receiver.connect(fast.local_addr().unwrap()).unwrap();
    let numbers = thread::scope(|scope| {
        scope.spawn(|| send_numbered(&slow, target, 0..SLOW_DATAGRAMS, 1400, 8000));
        scope.spawn(|| send_numbered(&fast, target, 0..FAST_DATAGRAMS, 200, 2000));
        receive_until_quiet(&receiver, Duration::from_millis(500))
    });
    assert_eq!(duplicates(&numbers), 0);
    let dropped = sent_over(&pair.a, "mpt0").dropped;
    let missing = FAST_DATAGRAMS - numbers.len() as u64;
    assert!(missing <= dropped, "{missing} missing, {dropped} dropped before the daemon");
    let drops = a.path("tunnel", "line1").drops;
    assert!(drops.get("socket_full").is_some_and(|&count| count > 0), "it was full: {drops:?}");
    assert!(crate::hosts::counted(&a.path("tunnel", "line2").drops).is_empty());
    for daemon in [a, b] {
        daemon.stop();
    }
}

/// A socket whose packets take this path.
fn flow_on(pair: &Pair, daemon: &Daemon, path: &str, target: SocketAddr) -> UdpSocket {
    wait_for("a flow over the path", || {
        let socket = pair.a.udp("10.72.0.1:0");
        let before = daemon.path("tunnel", path).sent.packets;
        for _ in 0..20 {
            socket.send_to(&[0; 8], target).unwrap();
        }
        thread::sleep(Duration::from_millis(50));
        (daemon.path("tunnel", path).sent.packets >= before + 20).then_some(socket)
    })
}
