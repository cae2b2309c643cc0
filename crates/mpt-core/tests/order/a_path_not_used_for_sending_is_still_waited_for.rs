//! That we send nothing on a path says nothing about the peer: while no control session tells more,
//! its packets on that path are waited for. (Once they were not, and half of them came late.)

use std::time::Duration;

use mpt_core::DownReason;

use crate::common::*;

fn inner(number: u8) -> Vec<u8> {
    udp("10.1.0.1", "10.0.0.1", 1, 2, &[number])
}

/// Delivers numbers 0 to 99, the odd ones 20 ms later over path 2, which is down for `reason`; gives
/// how many were late.
fn late_with_path_2_down(reason: DownReason) -> u64 {
    let mut node = node(connection(vec![path(1), path(2)]));
    let (id, _) = node.tunnels().paths().nth(1).unwrap();
    node.set_path_state(origin(), id, reason, true);
    let device = &mut Device::default();
    let start = origin();
    let mut arrivals: Vec<(u32, u8)> =
        (0..100).map(|n| (u32::from(n) + if n % 2 == 1 { 20 } else { 0 }, n)).collect();
    arrivals.sort_unstable();
    for (at, number) in arrivals {
        let now = start + Duration::from_millis(at.into());
        while node.next_timeout().is_some_and(|due| due <= now) {
            node.handle_timeout(now, device);
        }
        let datagram = gre(u32::from(number), &inner(number));
        receive(&mut node, now, 1 + number % 2, &datagram, device).unwrap();
    }
    assert_eq!(device.delivered.len(), 100, "all are delivered, late or not");
    let (_, connection) = node.tunnels().connections().next().unwrap();
    connection.reorder().unwrap().counters().late
}

#[test]
fn when_the_administrator_took_it_down_here() {
    assert_eq!(late_with_path_2_down(DownReason::Administrative), 0);
}

#[test]
fn but_not_when_nothing_can_arrive_on_it() {
    assert_ne!(late_with_path_2_down(DownReason::Interface), 0);
}
