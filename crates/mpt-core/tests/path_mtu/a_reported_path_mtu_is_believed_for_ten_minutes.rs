//! A path MTU that ICMP reported of a path without a session lowers it for ten minutes, in virtual time.

use std::time::{Duration, Instant};

use mpt_core::path::reported::{Change, Reported};
use mpt_core::{InnerDrop, Node, PathId};

use crate::common::*;

/// An inner packet that a path of 1500 bytes carries, and one of 1400 does not.
fn is_carried(node: &mut Node<Packet>) -> Result<(), InnerDrop> {
    send(node, &udp("10.0.0.1", "10.1.0.1", 1, 2, &[0; 1464 - 28])).map(drop)
}

fn scene() -> (Node<Packet>, PathId, Reported) {
    let node = node(connection(vec![path(1)]));
    let (id, _) = node.tunnels().paths().next().unwrap();
    (node, id, Reported::default())
}

/// Ticks once in a second from `from` on, and returns when something changed, if it does before `until`.
fn change(
    reported: &mut Reported,
    node: &mut Node<Packet>,
    id: PathId,
    (from, until): (Instant, Instant),
) -> Option<(Duration, Change)> {
    let mut now = from;
    while now < until {
        now += Duration::from_secs(1);
        if let Some(change) = node.expire_path_mtu(now, reported, id) {
            return Some((now - from, change));
        }
        assert_eq!(is_carried(node), Err(InnerDrop::TooBig { mtu: 1364 }), "{:?}", now - from);
    }
    None
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn then_larger_packets_are_sent_again_and_not_before() {
    let (mut node, id, mut reported) = scene();
    assert_eq!(is_carried(&mut node), Ok(()));
    let now = origin();
    let lowered = node.believe_path_mtu(now, &mut reported, id, 1400);
    assert_eq!(lowered, Some(Change { before: 1500, device: Some((DEVICE, 1364)) }));
    assert_eq!(reported.left(now + MINUTE), Some(9 * MINUTE));
    let raised = change(&mut reported, &mut node, id, (now, now + 60 * MINUTE));
    let expected = Change { before: 1400, device: Some((DEVICE, 1464)) };
    assert_eq!(raised, Some((10 * MINUTE, expected)));
    assert_eq!(is_carried(&mut node), Ok(()));
    assert!(!reported.is_some());
    assert_eq!(node.expire_path_mtu(now + 60 * MINUTE, &mut reported, id), None, "once");
}

#[test]
fn a_smaller_report_starts_the_time_anew() {
    let (mut node, id, mut reported) = scene();
    let now = origin();
    node.believe_path_mtu(now, &mut reported, id, 1450).unwrap();
    let later = now + 9 * MINUTE;
    node.believe_path_mtu(later, &mut reported, id, 1400).unwrap();
    let raised = change(&mut reported, &mut node, id, (later, later + 60 * MINUTE));
    assert_eq!(raised.map(|(after, _)| after), Some(10 * MINUTE));
    assert_eq!(node.tunnels().path(id).unwrap().mtu(), 1500);
}

#[test]
fn a_report_that_repeats_or_lies_changes_nothing() {
    let (mut node, id, mut reported) = scene();
    let now = origin();
    node.believe_path_mtu(now, &mut reported, id, 1400).unwrap();
    for mtu in [1400, 1500, u16::MAX, 575, 0] {
        assert_eq!(node.believe_path_mtu(now + 9 * MINUTE, &mut reported, id, mtu), None, "{mtu}");
    }
    let raised = change(&mut reported, &mut node, id, (now, now + 60 * MINUTE));
    assert_eq!(raised.map(|(after, _)| after), Some(10 * MINUTE), "it does not hold for longer");
}
