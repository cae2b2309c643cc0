//! Random loss does not make a path flap: while an answer is overdue, probes go more often.

use std::time::Duration;

use mpt_core::liveness::{Liveness, State, Timing};

use super::harness::{World, ms};

const HOUR: Duration = Duration::from_secs(3600);

fn run(seed: u64, paths: &[Duration], loss: f64, active: bool, time: Duration) -> World {
    let mut world = World::new(seed, Timing::default(), paths);
    world.run(ms(1000));
    world.links.iter_mut().flatten().for_each(|link| link.loss = loss);
    world.set_active(active);
    world.run(time);
    world
}

fn deaths(world: &World) -> u32 {
    world.ends.iter().flat_map(|end| &end.liveness).map(Liveness::flaps).sum()
}

#[test]
fn with_5_per_cent_for_an_hour() {
    for paths in [&[ms(5)][..], &[ms(10), ms(50)]] {
        assert_eq!(deaths(&run(1, paths, 0.05, true, HOUR)), 0, "{paths:?}");
    }
}

#[test]
fn with_10_per_cent_all_but_a_thousandth_of_the_time() {
    let world = run(1, &[ms(10), ms(50)], 0.1, true, HOUR);
    let mut down = Duration::ZERO;
    for (end, path) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let mut changes = world.changes(end, path, ms(1000)..Duration::MAX).into_iter();
        while let Some(died) = changes.find(|e| e.change.state != State::Up) {
            let rose = changes.find(|e| e.change.state == State::Up).map_or(HOUR, |e| e.at);
            down += rose - died.at;
        }
    }
    assert!(down < HOUR * 4 / 1000, "down for {down:?}, {} deaths", deaths(&world));
}

#[test]
fn with_10_per_cent_for_days_when_idle() {
    let days = Duration::from_secs(7 * 86_400);
    assert_eq!(deaths(&run(1, &[ms(10), ms(50)], 0.1, false, days)), 0);
}
