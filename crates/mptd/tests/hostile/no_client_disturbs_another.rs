//! A client with a valid key does everything wrong that the protocol allows it to say, at 1 and at 10,000 frames per second, beside two correct peers.

use std::thread;
use std::time::Duration;

use serde_json::json;

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
    let watch = scene.watch();
    for kind in kinds {
        for (rate, seconds) in [(1, 0.2), (RATE, seconds())] {
            let config = client(vec!["connect", "create", "up", kind], rate, seconds);
            let said =
                scene.under_reload(|| Program::start(&scene.outside, "peer.py", &config).finish());
            println!("{kind}: {} frames, {} per second", said[3]["sent"], said[3]["rate"]);
        }
    }
    // What it left half done is over soon.
    thread::sleep(Duration::from_secs(1));
    let honest = client(vec!["connect", "create", "up", "alive", "goodbye"], 1, 1.0);
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
