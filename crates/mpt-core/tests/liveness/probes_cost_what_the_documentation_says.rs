//! The probe traffic given in docs/liveness.md: bytes of IPv4 packets in 30 days, both directions of
//! one path together, at the default timers. With Ethernet each frame is 14 bytes longer.

use std::time::Duration;

use mpt_core::liveness::Timing;

use super::harness::{World, ms};

const MONTH: f64 = 30.0 * 86_400.0;

/// Megabytes in 30 days, and frames per second, on each of these paths.
fn cost(paths: usize, broken: bool, active: bool) -> (f64, f64) {
    let delays = vec![ms(20); paths];
    let mut world = World::new(1, Timing::default(), &delays);
    world.run(ms(1000));
    if broken {
        (0..paths).for_each(|path| world.set_broken(path, true));
        world.run(Duration::from_secs(70));
    }
    world.set_active(active);
    world.run(Duration::from_secs(60));
    let sums = |world: &World| {
        let ends = &world.ends;
        (ends[0].bytes_sent + ends[1].bytes_sent, ends[0].frames_sent + ends[1].frames_sent)
    };
    let before = sums(&world);
    let time = Duration::from_secs(if active { 600 } else { 86_400 });
    world.run(time);
    let after = sums(&world);
    let per_second = |a: u64, b: u64| (a - b) as f64 / time.as_secs_f64() / paths as f64;
    (per_second(after.0, before.0) * MONTH / 1e6, per_second(after.1, before.1))
}

#[test]
fn on_a_path_that_is_up_and_on_one_that_is_not() {
    let cases = [(1, false), (2, false), (8, false), (2, true)].into_iter();
    let figures: Vec<String> = cases
        .flat_map(|(paths, broken)| [(paths, broken, true), (paths, broken, false)])
        .map(|(paths, broken, active)| {
            let (megabytes, frames) = cost(paths, broken, active);
            let up = if broken { "dead" } else { "up" };
            let traffic = if active { "active" } else { "idle" };
            format!("{paths} {up} {traffic}: {megabytes:.0} MB, {frames:.1} frames/s")
        })
        .collect();
    insta::assert_snapshot!("figures", figures.join("\n"));
}
