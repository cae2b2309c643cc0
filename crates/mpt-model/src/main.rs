//! Checks the model of the handshake within larger bounds than its tests do: `make model`.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::process::ExitCode;
use std::time::Instant;

use mpt_model::{Bounds, Handshake, Rules};
use stateright::{Checker, Model};

/// The runs of the check, by name.
const RUNS: [(&str, Bounds); 4] = [
    ("an attacker who repeats four messages", Bounds { replays: 4, ..QUIET }),
    (
        "two repeated messages, one lost, new keys",
        Bounds { replays: 2, drops: 1, rekeyings: 1, ..QUIET },
    ),
    (
        "two repeated messages, a restart of the responder, erased keys",
        Bounds { replays: 2, restarts: 1, erasures: 1, ..QUIET },
    ),
    (
        "no attacker: two messages lost, new keys, a restart, a new address, an early timer",
        Bounds { drops: 2, rekeyings: 1, restarts: 1, moves: 1, early_timers: 1, ..QUIET },
    ),
];

const QUIET: Bounds = Bounds::quiet(10);

fn main() -> ExitCode {
    let mut failed = false;
    for (name, bounds) in RUNS {
        let start = Instant::now();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let model = Handshake { rules: Rules::Document, bounds };
        let checker = model.checker().threads(threads).spawn_bfs().join();
        let took = start.elapsed().as_secs_f64();
        println!("{name}: {} states, {took:.1} s", checker.unique_state_count());
        let (states, stuck) = model.states_and_stuck_ones();
        println!("  the session stands again from {} of {states}", states - stuck);
        failed |= stuck > 0;
        for (property, path) in checker.discoveries() {
            let is_example = property == "keys are renewed";
            if !is_example {
                failed = true;
                println!("  violated: {property}");
                for action in path.into_actions() {
                    println!("    {action:?}");
                }
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
