//! A process that was stopped for a while finds its deadlines passed and the answers unread. It gives
//! the paths one more chance, once.

use std::time::Duration;

use mpt_core::liveness::{State, Timing};

use super::harness::{World, ms};

#[test]
fn however_long() {
    for seed in 1..=20 {
        let mut world = World::new(seed, Timing::default(), &[ms(10), ms(120)]);
        world.run(ms(2000));
        let settled = world.time();
        for pause in [100, 290, 400, 1000, 10_000] {
            world.stand_still(0, ms(pause));
            world.run(ms(pause + 4000));
        }
        let at_fault: Vec<_> = world.log.iter().filter(|e| e.at > settled && e.end == 0).collect();
        assert!(at_fault.is_empty(), "seed {seed}: {at_fault:?}");
        let rtt = world.ends[0].liveness[0].rtt().smoothed();
        assert!(rtt.is_some_and(|rtt| rtt < ms(30)), "what lay unread is no round trip");
    }
}

#[test]
fn a_path_that_broke_meanwhile_is_found_afterwards() {
    for seed in 1..=20 {
        let mut world = World::new(seed, Timing::default(), &[ms(10), ms(10)]);
        world.run(ms(2000));
        world.stand_still(0, ms(1000));
        world.set_broken(0, true);
        world.run(ms(1000));
        let awake = world.time();
        world.run(ms(1000));
        let after = world.when(0, 0, State::Dead, awake).unwrap() - awake;
        assert!(after <= ms(300), "seed {seed}: {after:?}");
    }
}

#[test]
fn one_that_is_always_late_still_finds_dead_paths() {
    let mut world = World::new(1, Timing::default(), &[ms(10), ms(10)]);
    world.run(ms(2000));
    world.set_broken(0, true);
    let cut = world.time();
    for _ in 0..20 {
        world.stand_still(0, ms(250));
        world.run(ms(250));
    }
    assert!(world.when(0, 0, State::Dead, cut).is_some_and(|t| t - cut < Duration::from_secs(1)));
}
