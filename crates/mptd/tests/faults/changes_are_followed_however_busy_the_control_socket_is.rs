//! Programs ask for the state of everything without a pause. What somebody removes from the network meanwhile is there again within a second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use crate::internet::{SOON, batch, both, deletion, hosts, rules, way_to_server, within_a_second};

/// Programs that ask at the same time.
const PROGRAMS: usize = 4;
/// Number of times that the rules are removed.
const TIMES: usize = 5;

#[test]
fn by_questions() {
    let (pair, configs) = hosts();
    let [a, _b] = pair.start(&configs);
    let sorted = |version| {
        let mut rules = rules(&pair.a, version);
        rules.sort();
        rules
    };
    let before = sorted("-4");
    let commands: Vec<_> = before.iter().map(|line| deletion(line)).collect();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..PROGRAMS {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    a.show();
                }
            });
        }
        let there_again: Vec<bool> = (0..TIMES)
            .map(|_| {
                batch(&pair.a, "-4", &commands);
                let start = Instant::now();
                while sorted("-4") != before && start.elapsed() < SOON {}
                sorted("-4") == before
            })
            .collect();
        stop.store(true, Ordering::Relaxed);
        assert_eq!(there_again, [true; TIMES], "the rules are there again within a second");
    });
    within_a_second("the way leads into the tunnel", || way_to_server(&pair.a) == both("mpt0"));
}
