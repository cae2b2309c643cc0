//! A client with a valid key does everything wrong that the protocol allows it to say, at 1 and at 10,000 frames per second, beside two correct peers.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::hosts::Identity;
use crate::kit::{Program, alone};
use crate::scene::{Scene, seconds};
use crate::the_document_is_enough_to_write_a_peer::create;

/// Frames per second that the client tries to send: what it reaches beside the others is printed.
const RATE: u32 = 10_000;

/// Everything that it does wrong.
pub(crate) const KINDS: [&str; 11] = [
    "requests",
    "tables",
    "epochs",
    "lies",
    "echoes",
    "probes",
    "nonsense",
    "identifiers",
    "flapping",
    "goodbyes",
    "initiations",
];

/// Counters that an honest client leaves as they are.
const REFUSALS: [&str; 5] =
    ["malformed", "unknown_path", "replayed", "requests_rate_limited", "requests_unfinished"];

/// Counters that grow by an abuse. What the others say is allowed, and is answered.
fn refusals(kind: &str) -> &'static [&'static str] {
    match kind {
        "requests" => &["requests_rate_limited", "requests_unfinished"],
        "nonsense" => &["malformed"],
        "identifiers" => &["unknown_path"],
        "initiations" => &["cookies_sent"],
        _ => &[],
    }
}

/// One client, one abuse after the other; then it is an honest client again, and is served.
fn abuse(kinds: &[&str]) {
    let _alone = alone();
    let mallory = Identity::new();
    let scene = Scene::new(|config| {
        config.daemon().set("listen", vec!["10.71.1.2"]);
        config.pool("inside").set("networks", vec!["10.73.0.0/24"]);
        config.client("mallory").set("public_key", mallory.public()).set("pool", "inside");
    });
    let client = |steps: Vec<&str>, rate: u32, seconds: f64| {
        json!({
            "key": mallory.file(), "peer": scene.identities[1].public(), "name": "c", "create": create("c"),
            "paths": [["10.71.1.9:4754", "10.71.1.2:4754"]], "do": steps, "rate": rate, "seconds": seconds,
        })
    };
    // At first it does nothing wrong.
    let (watch, before) = (scene.watch(), scene.counters());
    let honest = client(vec!["connect", "create", "up", "alive", "goodbye"], 1, 1.0);
    scene.under_reload(|| Program::start(&scene.outside, "peer.py", &honest).finish());
    scene.assert_undisturbed(watch, "an honest client");
    scene.assert_counted(&before, &[json!({ "sent": 0, "counters": REFUSALS })]);

    let watch = scene.watch();
    for kind in kinds {
        for (rate, seconds) in [(1, 0.2), (RATE, seconds())] {
            let before = scene.counters();
            let config = client(vec!["connect", "create", "up", kind], rate, seconds);
            let said =
                scene.under_reload(|| Program::start(&scene.outside, "peer.py", &config).finish());
            println!("{kind}: {} frames, {} per second", said[3]["sent"], said[3]["rate"]);
            if rate == RATE {
                let counters = refusals(kind);
                let counted =
                    json!({ "kind": kind, "sent": said[3]["sent"], "counters": counters });
                scene.assert_counted(&before, &[counted]);
            }
        }
    }
    // The daemon soon gives up the things that it left half done.
    thread::sleep(Duration::from_secs(1));
    Program::start(&scene.outside, "peer.py", &honest).finish();
    scene.assert_undisturbed(watch, &format!("{kinds:?}"));
}

#[test]
fn by_requests() {
    abuse(&KINDS[..1]);
}

#[test]
fn by_lies_about_its_paths() {
    abuse(&KINDS[1..5]);
}

#[test]
fn by_frames_that_mean_nothing() {
    abuse(&KINDS[5..8]);
}

#[test]
fn by_moving_leaving_and_coming_back() {
    abuse(&KINDS[8..]);
}

/// The longest time that an honest client waits for a speed test, in seconds: one of another client has to end first. That takes a second, five more at
/// most to find its rate, and the honest one does not ask all the time.
const TURN: f64 = 7.0;

/// Lets a client ask for something without end, and another one for the same now and then; gives what the other one said about `step`.
fn beside_greed(greed: &str, step: &str) -> Value {
    let _alone = alone();
    let (mallory, anna) = (Identity::new(), Identity::new());
    let scene = Scene::new(|config| {
        let daemon = config.daemon().set("listen", vec!["10.71.1.2"]);
        daemon.set("creations_per_second", 2);
        config.pool("inside").set("networks", vec!["10.73.0.0/24"]);
        for (name, identity) in [("mallory", &mallory), ("anna", &anna)] {
            config.client(name).set("public_key", identity.public()).set("pool", "inside");
        }
    });
    let client = |identity: &Identity, port: u16, steps: Vec<&str>| {
        json!({
            "key": identity.file(), "peer": scene.identities[1].public(), "name": "c", "create": create("c"),
            "paths": [[format!("10.71.1.9:{port}"), "10.71.1.2:4754"]], "do": steps, "rate": 200, "seconds": 60,
        })
    };
    let config = client(&mallory, 4754, vec!["connect", "create", "up", greed]);
    let mut greedy = Program::start(&scene.outside, "peer.py", &config);
    (0..3).for_each(|_| drop(greedy.said()));
    let config = client(&anna, 4755, vec!["connect", "create", "up", step, "goodbye"]);
    let mut said = Program::start(&scene.outside, "peer.py", &config).finish();
    println!("{step} beside {greed}: {}", said[3]);
    said.swap_remove(3)
}

#[test]
fn by_creating_connections_without_end() {
    let said = beside_greed("creations", "create_again");
    assert_eq!(said["busy"], 0, "{said}");
}

#[test]
fn by_asking_for_speed_tests_without_end() {
    let said = beside_greed("speed_tests", "measure");
    let waited = said["waited"].as_array().unwrap();
    assert!(waited.iter().all(|it| it.as_f64().unwrap() < TURN), "{said}");
}
