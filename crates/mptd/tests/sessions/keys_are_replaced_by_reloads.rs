//! Rotation of keys, as docs/security.md has it: new files are put in place at both ends, both are reloaded, and the tunnel goes on under the new keys.

use std::fs;

use mpt_api::SessionState;

use crate::hosts::traffic::deliver;
use crate::hosts::{Daemon, Identity, Pair, Preshared, wait_for};
use crate::support::authenticate;

/// Waits until there is a session with the owner of this key.
fn wait_for_session(daemon: &Daemon, peer: &str) {
    wait_for("a session", || {
        let session = daemon.connection("tunnel").session?;
        (session.state == SessionState::Established && session.peer == peer).then_some(())
    });
}

fn assert_carries(pair: &Pair, [a, b]: &mut [Daemon; 2]) {
    a.wait_until_up();
    b.wait_until_up();
    deliver(&pair.a.udp("10.72.0.1:5000"), &pair.b.udp("10.72.0.2:5000"), 100);
}

#[test]
fn the_private_key_of_one_host() {
    let pair = Pair::with_lines(1);
    let mut configs = pair.configs();
    let identities = authenticate(&mut configs);
    let mut daemons = pair.start(&configs);
    let fresh = Identity::new();
    configs[1].peer("tunnel").set("public_key", fresh.public());
    daemons[1].reload(&configs[1]);
    let session = |daemon: &Daemon| daemon.connection("tunnel").session.expect("it has a peer");
    assert_ne!(session(&daemons[1]).state, SessionState::Established, "with nobody yet");

    fs::copy(fresh.file(), identities[0].file()).unwrap();
    daemons[0].reload(&configs[0]);
    assert_eq!(daemons[0].show().daemon.public_key, Some(fresh.public()));
    wait_for_session(&daemons[1], &fresh.public());
    wait_for_session(&daemons[0], &identities[1].public());
    assert_carries(&pair, &mut daemons);
}

#[test]
fn the_preshared_key_of_both() {
    let pair = Pair::with_lines(1);
    let mut configs = pair.configs();
    let identities = authenticate(&mut configs);
    let psk = Preshared::new();
    for config in &mut configs {
        config.peer("tunnel").set("psk_file", psk.file());
    }
    let mut daemons = pair.start(&configs);
    // The hosts of the test have one file between them.
    fs::copy(Preshared::new().file(), psk.file()).unwrap();
    daemons[1].reload(&configs[1]);
    let session = daemons[1].connection("tunnel").session.expect("it has a peer");
    assert_ne!(session.state, SessionState::Established, "the old key is worth nothing");
    daemons[0].reload(&configs[0]);
    wait_for_session(&daemons[1], &identities[0].public());
    wait_for_session(&daemons[0], &identities[1].public());
    assert_carries(&pair, &mut daemons);
}
