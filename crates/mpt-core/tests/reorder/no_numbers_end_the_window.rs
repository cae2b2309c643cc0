//! Plain data has any numbers that somebody sends, 2^31 apart as well: nothing of it ends the daemon, and nothing is delivered twice or kept too long.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use mpt_core::reorder::{Config, ReorderBuffer, Sink, Verdict};

use super::harness::origin;
use super::random::Random;

/// Packets that were delivered.
#[derive(Default)]
struct Deliveries(Vec<u32>);

impl Sink<u32> for Deliveries {
    fn keep(&mut self, packet: u32) -> Option<u32> {
        Some(packet)
    }

    fn deliver(&mut self, packet: u32, _: bool, _: bool) {
        self.0.push(packet);
    }

    fn discard(&mut self, _: u32) {}
}

const HALF: u32 = 1 << 31;
const WINDOW: u16 = 1000;

/// A path of a small weight, whose first number is expected a whole spacing behind the first of all, brings nothing. Somebody who knows the key moves the
/// window on by 60,000 numbers at a time, and so half way round in some seconds.
#[test]
fn that_go_half_way_round_beside_a_path_that_is_silent() {
    for offset in [-200, -1, 0, 1, 50, 100, 101, 102, 200] {
        let config = Config { window: Some(WINDOW), ..Config::default() };
        let (now, mut sink) = (origin(), Deliveries::default());
        let mut buffer = ReorderBuffer::new(config);
        buffer.add_path(now, 0, 100);
        buffer.add_path(now, 1, 1);
        let due = (HALF - 1).wrapping_add_signed(offset);
        for number in (0..due).step_by(60_000) {
            buffer.receive(now, 0, number, number, &mut sink);
        }
        buffer.receive(now, 0, due + u32::from(WINDOW) - 1, 0, &mut sink);
        // Exactly half way round, the silent path counts as beyond the number due, which is given up at once.
        assert!([due, due + u32::from(WINDOW)].contains(&buffer.due()), "{offset}");
        buffer.handle_timeout(now + config.max_delay(), &mut sink);
        assert_eq!(buffer.occupancy(), 0, "{offset}");
    }
}

/// A number near another one, or as far from it as can be, or any.
fn wild(random: &mut Random, near: u32) -> u32 {
    let mut draw = |range: u32| (random.uniform() * f64::from(range)) as u32;
    let small = draw(40);
    match draw(8) {
        0..3 => near.wrapping_add(small),
        3 => near.wrapping_sub(small),
        4 => near.wrapping_add(64_900 + 30 * small),
        5 => near.wrapping_add(HALF - 20 + small),
        6 => [0, u32::MAX, HALF][draw(3) as usize],
        _ => draw(u32::MAX),
    }
}

/// Runs timers until a time.
fn wait(buffer: &mut ReorderBuffer<u32>, until: Instant, sink: &mut Deliveries) {
    while let Some(due) = buffer.next_timeout().filter(|&due| due <= until) {
        buffer.handle_timeout(due, sink);
    }
}

#[test]
fn whatever_they_are() {
    for seed in 0..200 {
        let mut random = Random::new(seed + 1);
        let config = Config {
            window: Some([0, 64, WINDOW, u16::MAX][seed as usize % 4]),
            ..Config::default()
        };
        let mut buffer = ReorderBuffer::new(config);
        let mut now = origin();
        for (path, weight) in [100, 1, 7].into_iter().enumerate() {
            buffer.add_path(now, path, weight);
        }
        let mut sink = Deliveries::default();
        let mut kept = BTreeSet::new();
        for packet in 0..2000_u32 {
            now += Duration::from_secs_f64(random.uniform() * 0.02);
            wait(&mut buffer, now, &mut sink);
            let number = wild(&mut random, buffer.due());
            let path = (random.uniform() * 3.0) as usize;
            if buffer.receive(now, path, number, packet, &mut sink) != Verdict::Duplicate {
                kept.insert(packet);
            }
            for packet in sink.0.drain(..) {
                assert!(kept.remove(&packet), "seed {seed}: {packet} twice");
            }
            assert_eq!(kept.len(), buffer.occupancy(), "seed {seed}, packet {packet}");
        }
        wait(&mut buffer, now + config.max_delay(), &mut sink);
        assert_eq!(kept.len(), sink.0.len(), "seed {seed}: some wait for longer than they may");
    }
}
