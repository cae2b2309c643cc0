//! Everybody at once, for as long as `HOSTILE_SOAK_SECONDS` says: strangers off the path, one on it, and clients with a key. The daemon's memory is where it
//! was after the first round, and the correct peers have noticed nothing.

use std::env;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::hosts::Identity;
use crate::kit::{Program, alone};
use crate::no_client_disturbs_another::KINDS;
use crate::nobody_joins_without_a_token_of_its_own::token;
use crate::nobody_off_the_paths_disturbs_a_peer::{CONTROL, DATA, ICMP};
use crate::scene::{RATE, Scene};
use crate::the_document_is_enough_to_write_a_peer::create;

/// Time of the whole where `HOSTILE_SOAK_SECONDS` is not given.
const SHORT: f64 = 6.0;
/// By how much a daemon may grow after the first round.
const GROWTH: u64 = 4 << 20;
/// Time between two lines about memory.
const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn however_long_everybody_attacks() {
    let _alone = alone();
    let total = env::var("HOSTILE_SOAK_SECONDS").map_or(SHORT, |it| it.parse().expect("a number"));
    let mallory = Identity::new();
    let scene = Scene::new(|config| {
        config.daemon().set("listen", vec!["10.71.1.2"]);
        config.pool("inside").set("networks", vec!["10.73.0.0/24"]);
        config.client("mallory").set("public_key", mallory.public()).set("pool", "inside");
    });
    let strangers: Vec<&str> = [&DATA[..], &ICMP, &CONTROL, &["joins_by_name"]].concat();
    let token = token(&scene);
    // Off the path at half of the rate, with a key at the other half.
    let each = (total / 2.0).min(20.0) / strangers.len() as f64;
    let round = || {
        let offpath = json!({
            "from": "10.71.1.1:4754", "to": "10.71.1.2:4754", "networks": ["10.72.0.1", "10.72.0.2"],
            "responder": scene.identities[1].public(), "kinds": strangers, "rate": RATE / 2, "seconds": each,
            "token": token.id,
        });
        let onpath = json!({
            "ports": ["a1", "b1"], "record": 0.5, "kinds": ["sealed", "reflect", "alter"],
            "rate": 1000, "seconds": each * 6.0,
        });
        let programs = [
            Program::start(&scene.outside, "offpath.py", &offpath),
            Program::start(scene.pair.middle(), "onpath.py", &onpath),
        ];
        for kind in KINDS {
            let client = json!({
                "key": mallory.file(), "peer": scene.identities[1].public(), "name": "c", "create": create("c"),
                "paths": [["10.71.1.9:4754", "10.71.1.2:4754"]], "do": ["connect", "create", "up", kind],
                "rate": RATE / 2, "seconds": each,
            });
            Program::start(&scene.outside, "peer.py", &client).finish();
        }
        for program in programs {
            program.finish();
        }
    };
    let start = Instant::now();
    scene.under_reload(round);
    let (before, watch) = (scene.memory(), scene.watch());
    let mut said = start;
    let mut rounds = 1;
    while rounds < 2 || start.elapsed().as_secs_f64() < total {
        scene.under_reload(round);
        rounds += 1;
        if said.elapsed() >= MINUTE {
            said = Instant::now();
            let [a, b] = scene.memory().map(|bytes| bytes >> 10);
            println!("after {} s and {rounds} rounds: {a} and {b} KiB", start.elapsed().as_secs());
        }
    }
    // The daemon soon gives up the things that they left half done.
    thread::sleep(Duration::from_secs(1));
    let after = scene.memory();
    let [from, to] = [before, after].map(|it| it.map(|bytes| bytes >> 10));
    println!("{rounds} rounds in {} s: from {from:?} to {to:?} KiB", start.elapsed().as_secs());
    for end in 0..2 {
        assert!(after[end] < before[end] + GROWTH, "from {from:?} to {to:?} KiB");
    }
    scene.assert_undisturbed(watch, "everybody at once");
}
