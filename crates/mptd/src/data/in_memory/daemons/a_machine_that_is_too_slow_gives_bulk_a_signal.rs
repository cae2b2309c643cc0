//! A machine that gets more than it can take gives bulk a signal before its sockets are full and the kernel drops what comes. A packet is marked or
//! dropped, after it has been received and put in order. A machine that is only late takes everything in the end, and gives none.

use std::time::Duration;

use mpt_wire::ecn::Ecn;

use crate::data::in_memory::system::network::{Network, line};

/// Time from one packet to the next: a round of the receiver takes up to 512, and one comes every 30 ms.
const TOO_FAST: Duration = Duration::from_micros(50);
/// Time from one packet to the next at which the receiver reads everything in each round, with some to spare.
const JUST_RIGHT: Duration = Duration::from_micros(70);

/// Sends packets with this ECN field and payload to a machine that works every 30 ms, until they have arrived, and returns how many were dropped and how many marked.
fn signals(ecn: Ecn, payload: usize, interval: Duration) -> (u64, u64) {
    // Of small packets a round takes 64, and too many of them would end the session.
    let count = if payload < 500 { 2_000 } else { 10_000 };
    let mut network = Network::new(21, &[line(5)], "mapping = \"packet\"");
    network.establish();
    network.hosts[1].pause = Duration::from_millis(30);
    let form = &mut network.hosts[0].form;
    (form.ecn, form.payload) = (ecn, payload);
    network.send(0, 7, count, interval);
    network.run(Duration::from_secs(10));
    let host = &network.hosts[1];
    let dropped = host.data.drops()["receive_waited"];
    assert_eq!(host.received.len() as u64 + dropped, count, "each arrives or is counted");
    assert!(host.numbers().is_sorted());
    (dropped, host.received.iter().filter(|it| it.ecn == Ecn::Ce).count() as u64)
}

#[test]
fn one_packet_at_a_time_is_dropped() {
    let (dropped, marked) = signals(Ecn::NotEct, 1_000, TOO_FAST);
    assert!((1..=10).contains(&dropped) && marked == 0, "{dropped}, {marked}");
}

#[test]
fn or_marked_where_its_transport_knows_marks() {
    let (dropped, marked) = signals(Ecn::Ect0, 1_000, TOO_FAST);
    assert!((1..=10).contains(&marked) && dropped == 0, "{dropped}, {marked}");
}

#[test]
fn small_packets_get_none() {
    assert_eq!(signals(Ecn::NotEct, 100, TOO_FAST), (0, 0));
}

#[test]
fn a_machine_that_is_late_only_gives_none() {
    assert_eq!(signals(Ecn::NotEct, 1_000, JUST_RIGHT), (0, 0));
}

/// One window of 300 packets comes at once, into a buffer that holds 500 of them or many.
#[test]
fn a_buffer_that_is_half_full_gives_one_before_it_overflows() {
    for (receive_buffer, signals) in [(500_000, 1), (5_000_000, 0)] {
        let mut network = Network::new(22, &[line(5)], "mapping = \"packet\"");
        network.establish();
        network.hosts[1].socket(0, 1).borrow_mut().receive_buffer = receive_buffer;
        network.hosts[1].pause = Duration::from_millis(30);
        network.hosts[0].form.payload = 1_000;
        network.send(0, 7, 300, Duration::from_micros(1));
        network.run(Duration::from_secs(1));
        let host = &network.hosts[1];
        assert_eq!(host.data.drops()["receive_waited"], signals, "of {receive_buffer}");
        assert_eq!(host.received.len() as u64 + signals, 300);
    }
}
