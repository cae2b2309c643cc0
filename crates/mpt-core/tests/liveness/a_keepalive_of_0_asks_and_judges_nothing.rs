//! `keepalive = 0` as in the papers: no probes, no judgement; the path counts as proven, and what the
//! peer asks is answered all the same.

use std::time::Duration;

use mpt_core::liveness::{Change, Liveness, State, Timing};

use super::harness::{ms, origin};

const OFF: Timing = Timing { keepalive: Duration::ZERO, idle: Duration::ZERO, dead: None };
const PROVEN: Option<Change> = Some(Change { state: State::Up, silent: false });

#[test]
fn from_the_start() {
    let start = origin();
    let mut path = Liveness::new(start, OFF);
    assert_eq!(path.handle_timeout(start), PROVEN);
    for hours in 0..100 {
        let now = start + Duration::from_secs(3600 * hours);
        path.set_active(now, hours % 2 == 0);
        path.handle_frame(now);
        assert!(!path.handle_echo(now, 0));
        path.handle_report(now, hours as u32);
        assert_eq!(path.handle_timeout(now), None);
        assert!(!path.poll_probe(now, 1) && !path.may_attach_probe(now));
        assert_eq!(path.next_timeout(), None);
    }
    assert_eq!(path.state(), State::Up);
}

#[test]
fn a_suspended_path_is_proven_again_when_it_is_back() {
    let start = origin();
    let mut path = Liveness::new(start, OFF);
    path.handle_timeout(start);
    path.suspend(start);
    assert_eq!(path.handle_timeout(start).unwrap().state, State::Probing);
    path.restart(start + ms(1));
    assert_eq!(path.handle_timeout(start + ms(1)), PROVEN);
    assert_eq!(path.next_timeout(), None);
}

#[test]
fn switched_on_and_off() {
    let start = origin();
    let mut path = Liveness::new(start, OFF);
    path.handle_timeout(start);
    let now = start + Duration::from_secs(1000);
    path.set_timing(now, Timing::default());
    assert_eq!(path.handle_timeout(now), None, "proven until the contrary is shown");
    assert!(path.poll_probe(now, 1));
    let mut time = now;
    while path.state() == State::Up {
        time = path.next_timeout().unwrap();
        path.handle_timeout(time);
        path.poll_probe(time, 1);
    }
    assert_eq!(time - now, ms(300));
    path.set_timing(time, OFF);
    assert_eq!(path.handle_timeout(time), PROVEN);
    assert_eq!((path.next_timeout(), path.outstanding()), (None, 0));
}
