//! Going idle and waking up: no path dies of it, however long the pause was, whatever the round-trip
//! time is; and one that broke during the pause is found as soon as any.

use std::time::Duration;

use mpt_core::liveness::{State, Timing};

use super::harness::{World, ms};

#[test]
fn after_pauses_of_any_length() {
    for seed in 1..=10 {
        for dead in [None, Some(ms(250))] {
            for delay in [0, 10, 140, 400] {
                let timing = Timing { dead, ..Timing::default() };
                let mut world = World::new(seed, timing, &[ms(delay), ms(10)]);
                world.run(ms(3000));
                let settled = world.time();
                assert!(world.all_up());
                for pause in [10, 150, 290, 310, 1000, 5000, 15_000, 16_400, 44_000, 200_000] {
                    world.set_active(false);
                    let pause = ms(pause + world.random.below(30));
                    world.run(pause);
                    world.set_active(true);
                    world.run(ms(1500));
                }
                let changes: Vec<_> = world.log.iter().filter(|e| e.at > settled).collect();
                assert!(changes.is_empty(), "seed {seed}, {delay} ms, {dead:?}: {changes:?}");
            }
        }
    }
}

#[test]
fn when_traffic_comes_and_goes() {
    // Each time too short for the first answer.
    for seed in 1..=10 {
        let mut world = World::new(seed, Timing::default(), &[ms(400), ms(10)]);
        world.run(ms(3000));
        let settled = world.time();
        for _ in 0..200 {
            world.set_active(false);
            let (pause, traffic) = (world.random.below(2000), world.random.below(400));
            world.run(ms(pause));
            world.set_active(true);
            world.run(ms(traffic));
        }
        assert!(world.log.iter().all(|e| e.at <= settled), "seed {seed}");
        // And even so a broken path is found.
        world.set_broken(0, true);
        for _ in 0..5 {
            world.set_active(false);
            world.run(ms(2000));
            world.set_active(true);
            world.run(ms(400));
        }
        assert_eq!(world.state(0, 0), State::Dead, "seed {seed}");
    }
}

#[test]
fn what_broke_in_the_meantime_is_found() {
    for seed in 1..=50 {
        let mut world = World::new(seed, Timing::default(), &[ms(10), ms(10)]);
        world.run(ms(1000));
        world.set_active(false);
        world.run(ms(20_000));
        world.set_broken(0, true);
        let unnoticed = ms(100 + world.random.below(12_000));
        world.run(unnoticed);
        let woken = world.time();
        assert_eq!(world.state(0, 0), State::Up);
        world.set_active(true);
        world.run(ms(1000));
        for end in 0..2 {
            let after = world.when(end, 0, State::Dead, woken).unwrap() - woken;
            assert!(after <= ms(300), "seed {seed}: {after:?}");
        }
    }
}

#[test]
fn what_breaks_while_idle_is_dead_within_three_intervals() {
    for seed in 1..=20 {
        let mut world = World::new(seed, Timing::default(), &[ms(10), ms(10)]);
        world.run(ms(1000));
        world.set_active(false);
        world.run(ms(20_000));
        world.set_broken(0, true);
        let cut = world.time();
        world.run(ms(50_000));
        let after = world.when(0, 0, State::Dead, cut).unwrap() - cut;
        assert!(after <= ms(45_020), "seed {seed}: {after:?}");
        world.set_broken(0, false);
        world.run(Duration::from_secs(20));
        assert_eq!(world.state(0, 0), State::Up, "seed {seed}: with the next probe");
    }
}
