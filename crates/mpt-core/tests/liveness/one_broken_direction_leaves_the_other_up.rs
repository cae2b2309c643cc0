//! Only one direction of a path is broken: the other one remains up for as long as that lasts, since
//! the peer reports over the other path that it hears us, and even starts so.

use std::time::Duration;

use mpt_core::liveness::{State, Timing};

use super::harness::{World, ms};

#[test]
fn for_as_long_as_it_lasts() {
    for seed in 1..=20 {
        for loss in [0.0, 0.01, 0.02] {
            let mut world = World::new(seed, Timing::default(), &[ms(10), ms(30)]);
            world.run(ms(1000));
            world.links[1][0].broken = true;
            for links in &mut world.links {
                links.iter_mut().for_each(|link| link.loss = loss);
            }
            let cut = world.time();
            world.run(Duration::from_secs(120));
            assert_eq!(world.ends[0].liveness[0].flaps(), 0, "seed {seed}, loss {loss}");
            assert!(world.ends[0].liveness[0].is_silent());
            assert_eq!(world.state(1, 0), State::Dead);
            assert!(!world.ends[1].liveness[0].is_silent());
            let other = world.changes(1, 1, cut..Duration::MAX);
            assert_eq!(other, [], "seed {seed}, loss {loss}");
        }
    }
}

#[test]
fn from_the_start() {
    for seed in 1..=20 {
        let mut world = World::new(seed, Timing::default(), &[ms(10), ms(30)]);
        world.links[1][0].broken = true;
        world.run(ms(500));
        assert_eq!(world.state(0, 0), State::Up, "seed {seed}");
        assert_eq!(world.state(1, 0), State::Probing, "seed {seed}");
        assert!(world.ends[0].liveness[0].is_silent());
    }
}

#[test]
fn in_idle_times_too() {
    for seed in 1..=10 {
        let mut world = World::new(seed, Timing::default(), &[ms(10), ms(30)]);
        world.run(ms(1000));
        world.links[1][0].broken = true;
        world.run(ms(1000));
        world.set_active(false);
        for _ in 0..5 {
            world.run(Duration::from_secs(600));
            world.set_active(true);
            world.run(ms(2000));
            world.set_active(false);
        }
        assert_eq!(world.ends[0].liveness[0].flaps(), 0, "seed {seed}");
        assert_eq!(world.state(1, 0), State::Dead);
    }
}
