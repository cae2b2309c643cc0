//! Messages that the prototype takes from anybody: commands and data with addresses that are not the peer's, rounds out of order, creations.

use std::net::UdpSocket;

use mpt_api::PathState;

use crate::hosts::{Daemon, Pair, wait_for};
use crate::prototype::{OUR_COMMAND_PORT, PORT, Setup, counter};

/// Round 3 of a path status change: line 1 goes down.
fn command(code: u8, round: u8) -> Vec<u8> {
    let mapped = |address: [u8; 4]| [&[0; 10][..], &[0xff, 0xff], &address].concat();
    let mut message = vec![code, 0x80, 0, 0, round, 4, 0, 0];
    message.extend(mapped([10, 72, 0, 2]));
    message.extend(mapped([10, 72, 0, 1]));
    match round {
        1 => message.extend([32, 0, 0, 0]),
        _ => message.extend([mapped([10, 71, 1, 2]), mapped([10, 71, 1, 1])].concat()),
    }
    message
}

fn wait_for_counter(daemon: &Daemon, name: &str) {
    wait_for(name, || (counter(daemon, name) > 0).then_some(()));
}

#[test]
fn commands_of_others_are_dropped_and_counted() {
    let pair = Pair::with_lines(2);
    let (daemon, _prototype) = Setup::default().start(&pair);
    let ours = format!("10.71.2.1:{OUR_COMMAND_PORT}");

    // From the peer, but without round 1, and with rounds that do not exist.
    let peer = pair.b.udp("10.71.2.2:50000");
    peer.send_to(&command(0xa2, 3), &ours).unwrap();
    wait_for_counter(&daemon, "no_exchange");
    peer.send_to(&command(0xa2, 9), &ours).unwrap();
    wait_for_drop(&daemon, "mptsrv_wrong_round");
    peer.send_to(&command(0xa3, 1), &ours).unwrap();
    wait_for_counter(&daemon, "unknown_code");
    peer.send_to(&command(0xa2, 1)[..43], &ours).unwrap();
    wait_for_counter(&daemon, "truncated");
    peer.send_to(b"\xa2", &ours).unwrap();
    wait_for_drop(&daemon, "mptsrv_truncated");

    // From an address of the same network that is not the peer's.
    pair.b.add_address("line2", "10.71.2.9/24");
    let stranger = pair.b.udp("10.71.2.9:50002");
    for round in [1, 3] {
        stranger.send_to(&command(0xa2, round), &ours).unwrap();
    }
    wait_for("wrong_source", || (counter(&daemon, "wrong_source") == 2).then_some(()));
    assert_eq!(daemon.path("tunnel", "line1").state, PathState::Up);
    assert_eq!(counter(&daemon, "commands_executed"), 0);
    nothing_comes(&stranger);
}

#[test]
fn keepalives_and_data_of_others_are_dropped_and_counted() {
    let pair = Pair::with_lines(2);
    let (daemon, _prototype) = Setup::default().start(&pair);
    let ours = format!("10.71.2.1:{PORT}");
    let before = counter(&daemon, "keepalives_received");
    // The right address, but not the port from which the peer sends.
    let other_port = pair.b.udp("10.71.2.2:50001");
    let mut keepalive = vec![0, 0, 8, 0, 0xa1];
    keepalive.resize(44, 0);
    for _ in 0..50 {
        other_port.send_to(&keepalive, &ours).unwrap();
    }
    wait_for_drop(&daemon, "unknown_sender");
    assert!(counter(&daemon, "keepalives_received") < before + 10);
}

fn wait_for_drop(daemon: &Daemon, name: &str) {
    wait_for(name, || (daemon.daemon_drops(name) > 0).then_some(()));
}

fn nothing_comes(socket: &UdpSocket) {
    socket.set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
    assert!(socket.recv(&mut [0; 100]).is_err(), "an answer to a stranger");
}
