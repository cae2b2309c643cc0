//! A queue fills in front of a path until everything on it is two seconds late. It stays up.

use std::time::Duration;

use mpt_core::liveness::{Liveness, State, Timing};

use super::harness::{World, ms, origin};

/// 10 ms, growing from the second second on by `growth` seconds per second up to 2 s, and the same
/// way back after 20 s.
fn filling(time: Duration, growth: f64) -> Duration {
    let queued = |since: u64| (time.saturating_sub(Duration::from_secs(since))).mul_f64(growth);
    let full = ms(2000);
    ms(10) + queued(2).min(full) - queued(20).min(full)
}

#[test]
fn while_the_queue_grows_and_drains() {
    for seed in 1..=20 {
        for growth in [0.2, 0.5, 1.0] {
            for directions in [&[0][..], &[1], &[0, 1]] {
                let mut world = World::new(seed, Timing::default(), &[ms(10), ms(10)]);
                for &direction in directions {
                    world.links[direction][0].delay = Box::new(move |time| filling(time, growth));
                }
                world.run(Duration::from_secs(19));
                let expected = ms(20) + ms(2000) * directions.len() as u32 - ms(10);
                let rtt = *world.ends[0].liveness[0].rtt();
                let smoothed = rtt.smoothed().unwrap();
                assert!(smoothed > expected * 95 / 100 && smoothed < expected * 105 / 100);
                assert_eq!(rtt.minimum(), Some(ms(20)));
                world.run(Duration::from_secs(41));
                for end in 0..2 {
                    let what = format!("seed {seed}, growth {growth}, directions {directions:?}");
                    assert_eq!(world.ends[end].liveness[0].flaps(), 0, "{what}");
                    assert!(world.ends[end].liveness[0].rtt().smoothed().unwrap() < ms(30));
                }
            }
        }
    }
}

#[test]
fn as_the_only_path() {
    for seed in 1..=20 {
        let mut world = World::new(seed, Timing::default(), &[ms(10)]);
        world.links[0][0].delay = Box::new(|time| filling(time, 1.0));
        world.run(Duration::from_secs(60));
        assert_eq!(world.ends.each_ref().map(|end| end.liveness[0].flaps()), [0, 0], "{seed}");
    }
}

#[test]
fn when_the_echoes_are_late_all_at_once_and_the_reports_are_not() {
    for seed in 1..=20 {
        let mut world = World::new(seed, Timing::default(), &[ms(10), ms(10)]);
        let jump = |time| if time < ms(2000) { ms(10) } else { ms(2500) };
        world.links[1][0].delay = Box::new(jump);
        world.run(Duration::from_secs(30));
        assert_eq!(world.ends[0].liveness[0].flaps(), 0, "seed {seed}");
        assert!(world.ends[0].liveness[0].rtt().smoothed().unwrap() > ms(2400));
    }
}

#[test]
fn reports_alone_keep_a_path_up() {
    let start = origin();
    let mut path = Liveness::new(start, Timing::default());
    let (mut now, mut frames, mut token) = (start, u32::MAX - 50, 0);
    while now < start + Duration::from_secs(60) {
        path.handle_timeout(now);
        token += u64::from(path.poll_probe(now, token));
        if (now - start).as_millis() % 100 == 50 {
            // Late ones in between say nothing.
            path.handle_report(now, frames.wrapping_sub(3));
            frames = frames.wrapping_add(1);
            path.handle_report(now, frames);
        }
        now += ms(1);
    }
    assert_eq!((path.state(), path.flaps()), (State::Up, 0));
    assert_eq!(path.rtt().smoothed(), None);
    // Reports that go on, but no longer grow.
    let last = now;
    while path.state() == State::Up {
        path.handle_report(now, frames);
        path.handle_timeout(now);
        token += u64::from(path.poll_probe(now, token));
        now += ms(1);
    }
    assert!(now - last <= ms(300), "{:?}", now - last);
}

#[test]
fn an_echo_after_ten_seconds_is_still_known() {
    let start = origin();
    let mut path = Liveness::new(start, Timing::default());
    let (mut now, mut tokens) = (start, Vec::new());
    while now <= start + Duration::from_secs(10) {
        path.handle_timeout(now);
        if path.poll_probe(now, u64::MAX - tokens.len() as u64) {
            tokens.push(u64::MAX - tokens.len() as u64);
        }
        now = path.next_timeout().unwrap();
    }
    assert!(tokens.len() > 80);
    assert!(path.handle_echo(start + Duration::from_secs(10), tokens[0]));
    assert!(!path.handle_echo(start + Duration::from_secs(10), tokens[0]), "once");
    assert_eq!(path.state(), State::Up);
    assert_eq!(path.rtt().latest(), Some(Duration::from_secs(10)));
}
