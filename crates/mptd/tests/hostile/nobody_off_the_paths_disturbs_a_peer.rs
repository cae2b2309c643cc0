//! An attacker who knows the addresses and ports of a path, and the receiver's public key, sends everything that he can make of that, at 1 and at 10,000
//! packets per second, while the daemons are reloaded. The same is true without the attacker, and then nothing is counted.

use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::kit::{Program, alone};
use crate::scene::{RATE, Scene, assert_fast, seconds};

pub(crate) const DATA: [&str; 11] = [
    "unknown_sender",
    "wrong_key",
    "truncated",
    "reserved_flags",
    "version",
    "unknown_protocol",
    "checksum",
    "malformed_inner",
    "inner_version",
    "foreign_source",
    "multicast",
];
pub(crate) const ICMP: [&str; 2] = ["icmp_unreachable", "icmp_too_big"];
pub(crate) const CONTROL: [&str; 8] = [
    "bad_version",
    "malformed_frame",
    "bad_mac",
    "unknown_index",
    "responses",
    "cookies",
    "strangers",
    "joins_of_no_token",
];

/// Longer than the second over which a responder counts initiations.
const FLOOD_FORGOTTEN: Duration = Duration::from_secs(2);

/// Sends the kinds one after the other. `sealed`: whether the correct peers seal their data.
fn attack(kinds: &[&str], sealed: bool) {
    let _alone = alone();
    let scene = if sealed { Scene::new(|_| {}) } else { Scene::plain() };
    let mtu = scene.daemons[1].show().devices[0].mtu;
    for (rate, seconds) in [(0, seconds()), (1, 0.2), (RATE, seconds())] {
        let watch = scene.watch();
        // One by one: some have counters in common.
        scene.under_reload(|| {
            for kind in kinds {
                if rate == RATE && *kind == "joins_of_no_token" {
                    // The flood of the kind before is over: of this one, too, the first ones are looked at without a cookie.
                    thread::sleep(FLOOD_FORGOTTEN);
                }
                let before = scene.counters();
                let config = json!({
                    "from": "10.71.1.1:4754", "to": "10.71.1.2:4754", "networks": ["10.72.0.1", "10.72.0.2"],
                    "responder": scene.identities[1].public(), "kinds": [kind], "rate": rate, "seconds": seconds, "sealed": sealed,
                });
                let said = Program::start(&scene.outside, "offpath.py", &config).finish();
                if rate == RATE {
                    assert_fast(&said, rate);
                }
                scene.assert_counted(&before, &said);
            }
        });
        scene.assert_undisturbed(watch, &format!("{rate} per second"));
    }
    assert_eq!(scene.daemons[1].show().devices[0].mtu, mtu, "nobody has changed the MTU");
}

#[test]
fn by_bad_data() {
    attack(&DATA, false);
}

/// If data is sealed, even forged data that would be delivered otherwise has no effect.
#[test]
fn by_any_data_where_it_is_sealed() {
    attack(&[&["genuine", "sealed"], &DATA[..]].concat(), true);
}

#[test]
fn by_icmp_errors() {
    attack(&ICMP, true);
}

#[test]
fn by_control_frames() {
    attack(&CONTROL, true);
}
