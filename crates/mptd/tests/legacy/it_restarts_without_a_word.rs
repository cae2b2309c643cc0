//! The prototype numbers from 0 again, and nobody says so.

use std::time::Duration;

use crate::hosts::traffic::{deliver, send_numbered};
use crate::hosts::{Pair, wait_for};
use crate::prototype::Setup;

#[test]
fn its_packets_are_delivered_all_the_same() {
    let pair = Pair::with_lines(2);
    let (daemon, mut prototype) = Setup::default().start(&pair);
    let (from, to) = (pair.b.udp("10.72.0.2:0"), pair.a.udp("10.72.0.1:7"));
    deliver(&from, &to, 3000);
    prototype.tell("restart");
    wait_for("it has restarted", || (prototype.status()["number"] == 0).then_some(()));
    // A second is what it may take to believe it (docs/reordering.md).
    let address = to.local_addr().unwrap();
    send_numbered(&from, address, 0..2000, 100, 1000);
    std::thread::sleep(Duration::from_millis(500));
    let before = daemon.connection("tunnel").received.packets;
    drain(&to);
    deliver(&from, &to, 1000);
    assert!(daemon.connection("tunnel").received.packets >= before + 1000);
}

/// We restart, and the prototype takes small numbers for that.
#[test]
fn ours_are_delivered_when_we_restart() {
    let pair = Pair::with_lines(2);
    let (mut daemon, mut prototype) = Setup::default().start(&pair);
    let to = pair.b.udp("10.72.0.2:7");
    deliver(&pair.a.udp("10.72.0.1:0"), &to, 3000);
    daemon.kill();
    daemon.start_again(&pair.a);
    daemon.wait_until_up();
    deliver(&pair.a.udp("10.72.0.1:0"), &to, 1000);
    assert_eq!(prototype.status()["restarts"], 1);
}

fn drain(socket: &std::net::UdpSocket) {
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    while socket.recv(&mut [0; 200]).is_ok() {}
    socket.set_read_timeout(Some(crate::hosts::PATIENCE)).unwrap();
}
