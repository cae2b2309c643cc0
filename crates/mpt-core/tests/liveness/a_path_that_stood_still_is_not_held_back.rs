//! A radio link stands still for a while, for a handover or a scan, and then delivers all that was sent meanwhile. That is no death for which the path is
//! held back: it is up with the first late echo.

use std::time::Duration;

use mpt_core::liveness::{State, Timing};

use super::harness::{World, ms};

/// The path stands still for so long at the end of each 3 s.
const LENGTH: Duration = Duration::from_millis(600);
const EVERY: u64 = 3_000;

/// The delay of a packet: 10 ms from the end of the pause on in which it is sent.
fn delay(time: Duration) -> Duration {
    let left = ms(EVERY - time.as_millis() as u64 % EVERY);
    ms(10) + if left <= LENGTH { left } else { Duration::ZERO }
}

#[test]
fn however_often_that_happens() {
    for seed in 1..=20 {
        for directions in [&[0][..], &[1], &[0, 1]] {
            let mut world = World::new(seed, Timing::default(), &[ms(10), ms(10)]);
            for &direction in directions {
                world.links[direction][0].delay = Box::new(delay);
            }
            for pause in 0..10 {
                let what = format!("seed {seed}, directions {directions:?}, pause {pause}");
                world.run(ms(EVERY - world.time().as_millis() as u64 % EVERY));
                let back = world.time();
                // Reports over the other path keep it up where it stands still towards us alone.
                let was_dead = world.state(0, 0) == State::Dead;
                assert_eq!(was_dead, directions[0] == 0, "{what}");
                world.run(ms(100));
                assert_eq!(world.state(0, 0), State::Up, "{what}");
                if was_dead {
                    let took = world.when(0, 0, State::Up, back).unwrap() - back;
                    assert!(took <= ms(25), "{what}: {took:?}");
                }
            }
        }
    }
}

/// A broken path loses its probes, so that none of them is late, and is held back as ever.
#[test]
fn while_a_path_that_was_broken_is() {
    for seed in 1..=20 {
        let mut world = World::new(seed, Timing::default(), &[ms(10), ms(10)]);
        world.run(ms(1_000));
        for needed in [6, 12, 24] {
            world.set_broken(0, true);
            world.run(LENGTH);
            world.set_broken(0, false);
            let back = world.time();
            world.run(ms(3_000));
            let took = world.when(0, 0, State::Up, back).unwrap() - back;
            assert!(took >= ms(75) * (needed - 1), "seed {seed}: {took:?}");
        }
    }
}
