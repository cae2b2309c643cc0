//! Whatever takes a path down or brings it back, the caller can say what changed, and how long it had been so.

use std::time::Duration;

use mpt_core::node::PathEvent;
use mpt_core::{ConnectionId, DownReason, DownReasons, Node, Nowhere, Transition};

use crate::common::*;

/// The next change of a state that is told.
fn told(node: &mut Node<Packet>) -> Option<Transition> {
    match node.poll_path_event()? {
        PathEvent::State(transition) => Some(transition),
        event => panic!("{event:?}"),
    }
}

const UP: DownReasons = DownReasons::NONE;

fn down(reason: DownReason) -> DownReasons {
    UP.with(reason, true)
}

#[test]
fn a_new_path_has_no_former_state() {
    let mut node = node(connection(vec![path(1)]));
    let (path, _) = node.tunnels().paths().next().unwrap();
    let event = told(&mut node);
    assert_eq!(event, Some(Transition { path, from: None, to: UP, lasted: Duration::ZERO }));
    assert_eq!(told(&mut node), None);
}

#[test]
fn each_state_with_the_time_that_the_one_before_lasted() {
    let mut node = node(connection(vec![path(1)]));
    let (path, _) = node.tunnels().paths().next().unwrap();
    told(&mut node);
    let start = origin();
    let at = |s| start + Duration::from_secs(s);
    node.set_path_state(at(5), path, DownReason::Dead, true);
    // Asked late: what counts is when it happened.
    let event = told(&mut node).unwrap();
    assert_eq!((event.path, event.from, event.to), (path, Some(UP), down(DownReason::Dead)));

    node.set_path_state(at(7), path, DownReason::Dead, true);
    assert_eq!(told(&mut node), None, "it was dead before");
    node.set_path_state(at(8), path, DownReason::Dead, false);
    node.set_path_state(at(9), path, DownReason::Dead, true);
    assert_eq!(told(&mut node), None, "it is as it was told last");

    node.set_path_state(at(25), path, DownReason::Dead, false);
    let (from, to) = (Some(down(DownReason::Dead)), UP);
    let event = told(&mut node);
    assert_eq!(event, Some(Transition { path, from, to, lasted: Duration::from_secs(20) }));
}

#[test]
fn a_further_reason_only_if_it_is_the_one_to_name() {
    let mut node = node(connection(vec![path(1)]));
    let (path, _) = node.tunnels().paths().next().unwrap();
    told(&mut node);
    let at = |s| origin() + Duration::from_secs(s);
    let mut change = |s, reason, present| {
        node.set_path_state(at(s), path, reason, present);
        told(&mut node).map(|event| (event.to.first(), event.lasted.as_secs()))
    };
    change(10, DownReason::Unproven, true);
    assert_eq!(change(20, DownReason::Dead, true), Some((Some(DownReason::Dead), 10)));
    assert_eq!(change(30, DownReason::Interface, true), Some((Some(DownReason::Interface), 10)));
    assert_eq!(change(40, DownReason::Dead, false), None);
    assert_eq!(change(50, DownReason::Unproven, false), None);
    let administrative = change(70, DownReason::Administrative, true);
    assert_eq!(administrative, Some((Some(DownReason::Administrative), 40)));
    assert_eq!(change(80, DownReason::Interface, false), None);
    assert_eq!(change(100, DownReason::Administrative, false), Some((None, 30)));
}

#[test]
fn what_a_reload_changes_is_told_and_what_is_gone_is_not() {
    let mut node = node(connection(paths(&[1, 1])));
    while told(&mut node).is_some() {}
    let mut config = connection(paths(&[1, 1]));
    config.paths[0].up = false;
    node.reconfigure(origin(), vec![config.clone()], &mut Nowhere).unwrap();
    let first = node.tunnels().find_path(ConnectionId::first(0), &config.paths[0].name).unwrap();
    let event = told(&mut node).unwrap();
    assert_eq!((event.path, event.to), (first, down(DownReason::Administrative)));
    assert_eq!(told(&mut node), None);

    node.set_path_state(origin(), first, DownReason::Dead, true);
    node.remove_path(origin(), first);
    assert_eq!(told(&mut node), None);
    // Another path gets the number of the one that is gone, and begins anew.
    node.reconfigure(origin(), vec![config], &mut Nowhere).unwrap();
    let event = told(&mut node).unwrap();
    assert_eq!((event.from, event.to), (None, down(DownReason::Administrative)));
}
