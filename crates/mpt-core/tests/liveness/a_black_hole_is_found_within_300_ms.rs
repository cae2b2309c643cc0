//! A path that silently drops everything, or one of its directions that does, at the default timers:
//! 300 ms after the last frame that came through, which may have been on its way for a round trip.

use std::time::Duration;

use mpt_core::liveness::{State, Timing};

use super::harness::{Random, World, ms};

const RUNS: u64 = 100;

/// A world in which everything is up, and one path is about to break.
fn settled(seed: u64, paths: u64) -> (World, Duration) {
    let mut random = Random::new(seed);
    let delays: Vec<_> = (0..paths).map(|_| Duration::from_micros(random.below(40_000))).collect();
    let round_trip = *delays.iter().max().unwrap() * 2;
    let mut world = World::new(seed, Timing::default(), &delays);
    world.run(ms(1000) + Duration::from_micros(random.below(200_000)));
    assert!(world.all_up(), "seed {seed}");
    (world, round_trip)
}

fn found(world: &World, end: usize, cut: Duration, seed: u64) -> Duration {
    let dead = world.when(end, 0, State::Dead, cut);
    dead.unwrap_or_else(|| panic!("seed {seed}: end {end} has not found it")) - cut
}

#[test]
fn both_ends_find_it() {
    let mut all = Vec::new();
    for seed in 1..=RUNS {
        for paths in [1, 2, 4] {
            let (mut world, round_trip) = settled(seed, paths);
            let cut = world.time();
            world.set_broken(0, true);
            world.run(ms(2000));
            for end in 0..2 {
                let after = found(&world, end, cut, seed);
                assert!(after <= ms(300) + round_trip, "seed {seed}: {after:?} of {round_trip:?}");
                all.push(after.saturating_sub(round_trip));
                assert!(world.ends[end].liveness[0].is_silent(), "seed {seed}");
                let silent = world.changes(end, 0, cut..Duration::MAX);
                let silent = silent.iter().find(|e| e.change.silent).unwrap().at - cut;
                assert!(silent <= ms(300) + round_trip, "seed {seed}: silent after {silent:?}");
                for other in 1..world.ends[end].liveness.len() {
                    let changes = world.changes(end, other, cut..Duration::MAX);
                    assert_eq!(changes, [], "seed {seed}: the others are not concerned");
                }
            }
        }
    }
    all.sort_unstable();
    let median = all[all.len() / 2];
    assert!(median >= ms(150) && median <= ms(300), "half way between, {median:?}");
}

#[test]
fn the_sender_finds_that_one_direction_is_broken() {
    for seed in 1..=RUNS {
        let (mut world, round_trip) = settled(seed, 2);
        let cut = world.time();
        world.links[0][0].broken = true;
        world.run(ms(3000));
        let after = found(&world, 0, cut, seed);
        assert!(after <= ms(300) + round_trip, "seed {seed}: {after:?}");
        let other_end = world.changes(1, 0, cut..Duration::MAX);
        assert!(other_end.iter().all(|e| e.change.state == State::Up), "seed {seed}");
        assert!(world.ends[1].liveness[0].is_silent());
    }
}

#[test]
fn a_configured_time_is_kept() {
    for seed in 1..=20 {
        let timing = Timing { dead: Some(ms(700)), ..Timing::default() };
        let mut world = World::new(seed, timing, &[ms(10), ms(10)]);
        world.run(ms(1000 + 7 * seed));
        let cut = world.time();
        world.set_broken(0, true);
        world.run(ms(2000));
        let after = found(&world, 0, cut, seed);
        assert!(after > ms(590) && after <= ms(720), "seed {seed}: {after:?}");
    }
}
