//! Whatever takes a path down or brings it back, the caller can say what changed, and how long it had been so.

use std::time::Duration;

use mpt_core::{ConnectionId, DownReason, DownReasons, Nowhere, Transition};

use crate::common::*;

const UP: DownReasons = DownReasons::NONE;

fn down(reason: DownReason) -> DownReasons {
    UP.with(reason, true)
}

#[test]
fn a_new_path_has_no_former_state() {
    let mut endpoint = endpoint(connection(vec![path(1)]));
    let (path, _) = endpoint.paths().next().unwrap();
    let told = endpoint.take_transition();
    assert_eq!(told, Some(Transition { path, from: None, to: UP, lasted: Duration::ZERO }));
    assert_eq!(endpoint.take_transition(), None);
}

#[test]
fn each_state_with_the_time_that_the_one_before_lasted() {
    let mut endpoint = endpoint(connection(vec![path(1)]));
    let (path, _) = endpoint.paths().next().unwrap();
    endpoint.take_transition();
    let start = origin();
    let at = |s| start + Duration::from_secs(s);
    endpoint.set_path_down(at(5), path, DownReason::Dead);
    // Asked late: what counts is when it happened.
    endpoint.set_path_silent(at(6), path, true);
    let told = endpoint.take_transition().unwrap();
    assert_eq!((told.path, told.from, told.to), (path, Some(UP), down(DownReason::Dead)));

    endpoint.set_path_down(at(7), path, DownReason::Dead);
    assert_eq!(endpoint.take_transition(), None, "it was dead before");
    endpoint.set_path_up(at(8), path, DownReason::Dead);
    endpoint.set_path_down(at(9), path, DownReason::Dead);
    assert_eq!(endpoint.take_transition(), None, "it is as it was told last");

    endpoint.set_path_up(at(25), path, DownReason::Dead);
    let (from, to) = (Some(down(DownReason::Dead)), UP);
    let told = endpoint.take_transition();
    assert_eq!(told, Some(Transition { path, from, to, lasted: Duration::from_secs(20) }));
}

#[test]
fn what_a_reload_changes_is_told_and_what_is_gone_is_not() {
    let mut endpoint = endpoint(connection(paths(&[1, 1])));
    while endpoint.take_transition().is_some() {}
    let mut config = connection(paths(&[1, 1]));
    config.paths[0].up = false;
    endpoint.reconfigure(origin(), vec![config.clone()], &mut Nowhere).unwrap();
    let first = endpoint.find_path(ConnectionId(0), &config.paths[0].name).unwrap();
    let told = endpoint.take_transition().unwrap();
    assert_eq!((told.path, told.to), (first, down(DownReason::Administrative)));
    assert_eq!(endpoint.take_transition(), None);

    endpoint.set_path_down(origin(), first, DownReason::Dead);
    endpoint.remove_path(origin(), first);
    assert_eq!(endpoint.take_transition(), None);
    // Another path gets the number of the one that is gone, and begins anew.
    endpoint.reconfigure(origin(), vec![config], &mut Nowhere).unwrap();
    let told = endpoint.take_transition().unwrap();
    assert_eq!((told.from, told.to), (None, down(DownReason::Administrative)));
}
