//! With `fallback = "direct"`, a default route leads into the tunnel while a path of it works, and otherwise out of the uplinks.

use std::time::Duration;

use mpt_api::{Command, PathChange};

use crate::hosts::{Config, Host, Identity, Pair, wait_for};
use crate::internet::{SERVER, both, hosts, way_to_server};

fn direct() -> (Pair, [Config; 2]) {
    let (pair, mut configs) = hosts();
    configs[0].connection("tunnel").set("fallback", "direct");
    // A packet that arrives directly is answered directly.
    pair.b.ip("route add 10.72.0.1 dev lo metric 4000");
    (pair, configs)
}

/// Waits until packets to the server leave by this device, and have the server answer one.
fn wait_for_way(pair: &Pair, device: &str) {
    wait_for(&format!("the way leads by {device}"), || {
        (way_to_server(&pair.a) == both(device)).then_some(())
    });
    answered(&pair.a, &pair.b);
}

/// A datagram to the server and back.
fn answered(from: &Host, to: &Host) {
    let there = to.udp(&format!("{}:7", SERVER[0]));
    let here = from.udp("0.0.0.0:0");
    for socket in [&here, &there] {
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    }
    let mut buffer = [0; 8];
    wait_for("an answer of the server", || {
        here.send_to(b"question", (SERVER[0], 7)).ok()?;
        let (_, from) = there.recv_from(&mut buffer).ok()?;
        there.send_to(b"answer", from).ok()?;
        here.recv_from(&mut buffer).ok()
    });
}

#[test]
fn while_no_path_works() {
    let (pair, configs) = direct();
    let [a, _b] = pair.start(&configs);
    wait_for_way(&pair, "mpt0");
    let set =
        |line, up| a.set_path("tunnel", line, PathChange { up: Some(up), ..PathChange::default() });
    set("line1", false);
    wait_for_way(&pair, "mpt0");
    set("line2", false);
    wait_for_way(&pair, "line1");
    set("line2", true);
    wait_for_way(&pair, "mpt0");
}

/// The paths' interfaces are well; the session finds that nothing comes back.
#[test]
fn while_the_other_end_is_away() {
    let (pair, mut configs) = direct();
    let identities = [Identity::new(), Identity::new()];
    for (end, config) in configs.iter_mut().enumerate() {
        config.daemon().set("private_key_file", identities[end].file());
        config.peer("tunnel").set("public_key", identities[1 - end].public());
    }
    let [_a, mut b] = pair.start(&configs);
    wait_for_way(&pair, "mpt0");
    b.kill();
    wait_for_way(&pair, "line1");
    b.start_again(&pair.b);
    wait_for_way(&pair, "mpt0");
}

#[test]
fn while_the_daemon_is_away() {
    let (pair, configs) = direct();
    let [mut a, _b] = pair.start(&configs);
    wait_for_way(&pair, "mpt0");
    a.kill();
    wait_for_way(&pair, "line1");
    a.start_again(&pair.a);
    wait_for_way(&pair, "mpt0");
    a.stop();
    wait_for_way(&pair, "line1");
}

#[test]
fn as_soon_as_a_reload_says_so() {
    let (pair, mut configs) = direct();
    configs[0].connection("tunnel").set("fallback", "block");
    let [a, _b] = pair.start(&configs);
    for line in ["line1", "line2"] {
        a.set_path("tunnel", line, PathChange { up: Some(false), ..PathChange::default() });
    }
    assert_eq!(way_to_server(&pair.a), both("mpt0"));
    configs[0].connection("tunnel").set("fallback", "direct");
    a.write_config(&configs[0]);
    a.request(Command::Reload).unwrap();
    wait_for_way(&pair, "line1");
    configs[0].connection("tunnel").set("fallback", "block");
    a.write_config(&configs[0]);
    a.request(Command::Reload).unwrap();
    assert_eq!(way_to_server(&pair.a), both("mpt0"));
}
