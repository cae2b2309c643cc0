//! A path that dies soon after it rose needs twice as many proofs the next time, up to 24. After a
//! minute without trouble all is forgiven.

use std::time::Duration;

use mpt_core::liveness::{State, Timing};

use super::harness::{World, ms};

/// Breaks path 0 until it is dead, mends it, and returns how long it then takes to be up.
fn flap(world: &mut World) -> Duration {
    world.set_broken(0, true);
    world.run(ms(1000));
    assert_eq!(world.state(0, 0), State::Dead);
    world.set_broken(0, false);
    let back = world.time();
    world.run(ms(100 + 24 * 110 + 100));
    assert_eq!(world.state(0, 0), State::Up);
    world.when(0, 0, State::Up, back).unwrap() - back
}

#[test]
fn up_to_24_proofs() {
    for seed in 1..=20 {
        let mut world = World::new(seed, Timing::default(), &[ms(10), ms(10)]);
        world.run(ms(1000));
        for needed in [6, 12, 24, 24, 24] {
            let took = flap(&mut world);
            let last = &world.ends[0].liveness[0];
            assert_eq!(last.confirmations_needed(), needed, "seed {seed}");
            // Reports count as well as echoes, so that two proofs may be closer than two probes.
            let least = ms(75) * (needed - 1);
            assert!(took >= least && took <= ms(110) * (needed + 1), "seed {seed}: {took:?}");
        }
        // Not soon after its rise, but no minute either: neither more nor less.
        world.run(Duration::from_secs(30));
        flap(&mut world);
        assert_eq!(world.ends[0].liveness[0].confirmations_needed(), 24);
        world.run(Duration::from_secs(60));
        flap(&mut world);
        assert_eq!(world.ends[0].liveness[0].confirmations_needed(), 3);
    }
}

#[test]
fn a_hundred_times_and_it_still_comes_back() {
    let mut world = World::new(1, Timing::default(), &[ms(10), ms(10)]);
    world.run(ms(1000));
    for _ in 0..100 {
        flap(&mut world);
    }
    assert_eq!(world.ends[0].liveness[0].flaps(), 100);
    let other = world.changes(0, 1, ms(1000)..Duration::MAX);
    assert_eq!(other, [], "the other path is not concerned");
}

#[test]
fn a_path_that_works_now_and_then_is_not_up() {
    // Open for 250 ms of each second: never three proofs in a row.
    let mut world = World::new(1, Timing::default(), &[ms(10), ms(10)]);
    world.run(ms(1000));
    world.set_broken(0, true);
    world.run(ms(1000));
    let from = world.time();
    for _ in 0..100 {
        world.set_broken(0, false);
        world.run(ms(150));
        world.set_broken(0, true);
        world.run(ms(850));
    }
    assert_eq!(world.when(0, 0, State::Up, from), None);
}

#[test]
fn bringing_its_interface_up_and_down_is_not_held_against_it() {
    let mut world = World::new(1, Timing::default(), &[ms(10), ms(10)]);
    world.run(ms(1000));
    for _ in 0..100 {
        let now = world.now;
        world.ends[0].liveness[0].suspend(now);
        world.service(0, 0);
        world.run(ms(50));
        let now = world.now;
        world.ends[0].liveness[0].restart(now);
        world.service(0, 0);
        world.run(ms(20));
        assert_eq!(world.state(0, 0), State::Up);
    }
    // A path that had been failing is held back through that.
    flap(&mut world);
    let now = world.now;
    world.ends[0].liveness[0].restart(now);
    assert_eq!(world.ends[0].liveness[0].confirmations_needed(), 6);
}
