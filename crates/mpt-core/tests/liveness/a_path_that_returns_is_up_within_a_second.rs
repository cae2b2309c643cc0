//! A path that was dead carries data again within a second of its return; one whose interface came
//! back, or that starts, within a round trip or two. One whose address moved was never gone.

use std::time::Duration;

use mpt_core::liveness::{State, Timing};

use super::harness::{World, ms};

#[test]
fn after_a_black_hole() {
    for seed in 1..=100 {
        let mut world = World::new(seed, Timing::default(), &[ms(20), ms(10)]);
        world.run(Duration::from_secs(11));
        world.set_broken(0, true);
        let broken = ms(400 + world.random.below(50_000));
        world.run(broken);
        assert_eq!(world.state(0, 0), State::Dead);
        world.set_broken(0, false);
        let back = world.time();
        world.run(ms(1000));
        assert!(world.all_up(), "seed {seed}");
        for end in 0..2 {
            let after = world.when(end, 0, State::Up, back).unwrap() - back;
            // The next probe, two more at the distance of a keepalive, a round trip.
            assert!(after <= ms(110 + 2 * 110 + 40), "seed {seed}: {after:?}");
            assert!(after >= ms(150), "seed {seed}: one proof is not enough: {after:?}");
        }
    }
}

#[test]
fn after_hours() {
    // Probes are rare by then.
    for seed in 1..=20 {
        let mut world = World::new(seed, Timing::default(), &[ms(20), ms(10)]);
        world.run(Duration::from_secs(11));
        world.set_broken(0, true);
        let broken = Duration::from_secs(7200) + ms(world.random.below(1000));
        world.run(broken);
        world.set_broken(0, false);
        world.run(ms(1100 + 2 * 110 + 40));
        assert!(world.all_up(), "seed {seed}");
    }
}

#[test]
fn after_its_interface_was_down() {
    for seed in 1..=50 {
        let mut world = World::new(seed, Timing::default(), &[ms(20), ms(10)]);
        world.run(ms(2000));
        // One end is told by its kernel, the other one finds out.
        world.set_broken(0, true);
        let now = world.now;
        world.ends[0].liveness[0].suspend(now);
        world.service(0, 0);
        assert_eq!(world.state(0, 0), State::Probing);
        world.run(ms(5000));
        world.set_broken(0, false);
        let (now, back) = (world.now, world.time());
        world.ends[0].liveness[0].restart(now);
        world.service(0, 0);
        world.run(ms(1000));
        let after = world.when(0, 0, State::Up, back).unwrap() - back;
        assert!(after <= ms(40), "seed {seed}: one round trip, not {after:?}");
        let peer = world.when(1, 0, State::Up, back).unwrap() - back;
        assert!(peer <= ms(1000), "seed {seed}: {peer:?}");
        assert_eq!(world.ends[0].liveness[0].flaps(), 0);
    }
}

#[test]
fn at_the_start_even_if_two_probes_of_three_are_lost() {
    for lost in 0..3 {
        let mut world = World::new(1, Timing::default(), &[ms(30)]);
        world.set_broken(0, true);
        if lost > 0 {
            world.run(ms(20 * lost - 1));
        }
        world.set_broken(0, false);
        world.run(ms(200));
        assert_eq!(world.when(0, 0, State::Up, Duration::ZERO), Some(ms(60 + 20 * lost)));
    }
}

#[test]
fn the_first_path_may_be_dead_at_the_start() {
    let mut world = World::new(1, Timing::default(), &[ms(10), ms(10)]);
    world.set_broken(0, true);
    world.run(Duration::from_secs(30));
    for end in 0..2 {
        assert_eq!(world.state(end, 0), State::Probing);
        assert!(world.ends[end].liveness[0].is_silent());
        assert_eq!(world.when(end, 1, State::Up, Duration::ZERO), Some(ms(20)));
    }
    world.set_broken(0, false);
    world.run(ms(150));
    assert!(world.all_up());
}

#[test]
fn a_path_that_moved_stays_up_and_is_measured_anew() {
    let mut world = World::new(1, Timing::default(), &[ms(20)]);
    world.run(ms(2000));
    let settled = world.time();
    for links in &mut world.links {
        links[0].delay = Box::new(|_| ms(50));
    }
    let now = world.now;
    world.ends[1].liveness[0].moved(now);
    assert_eq!(world.ends[1].liveness[0].outstanding(), 0);
    world.service(1, 0);
    assert_eq!(world.ends[1].liveness[0].outstanding(), 1);
    world.run(ms(2000));
    assert_eq!(world.changes(1, 0, settled..Duration::MAX), []);
    assert_eq!(world.ends[1].liveness[0].rtt().minimum(), Some(ms(100)));
}
