//! The prototype is left host by host (docs/operations.md, section 15): one end becomes mptd, then the other, and then both go over to a session.

use std::fs;
use std::time::Duration;

use mpt_api::{Command, PathState, SessionState};

use crate::hosts::traffic::{deliver, tcp_both_ways};
use crate::hosts::{Config, Daemon, Identity, Pair, wait_for};
use crate::prototype::{COMMAND_PORT, OUR_COMMAND_PORT, PORT, Setup, counter};

/// Returns the configuration that `mpt import` would have made of the files of the prototype at host `b`.
fn imported() -> Config {
    let mut config = Config::default();
    config.device("mpt0").set("addresses", vec!["10.72.0.2/24"]);
    config.connection("tunnel").set("networks", vec!["10.72.0.1"]).set("compat", "mptsrv");
    config
        .compat("tunnel")
        .set("remote", "10.72.0.1")
        .set("command_port", i64::from(COMMAND_PORT))
        .set("remote_command_port", i64::from(OUR_COMMAND_PORT))
        .set("keepalive", "1 s")
        .set("dead", "3 s");
    for line in 1..=2 {
        let path = config.lay_path("tunnel", line, 2);
        path.set("local_port", i64::from(PORT)).set("remote_port", i64::from(PORT));
    }
    config
}

fn carry(pair: &Pair) {
    deliver(&pair.a.udp("10.72.0.1:0"), &pair.b.udp("10.72.0.2:7"), 500);
    deliver(&pair.b.udp("10.72.0.2:0"), &pair.a.udp("10.72.0.1:7"), 500);
    tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:7000", 1_000_000);
}

#[test]
fn and_data_travels_after_each_step() {
    let pair = Pair::with_lines(2);
    let (a, prototype) = Setup::default().start(&pair);
    carry(&pair);

    drop(prototype);
    let mut b = Daemon::start(&pair.b, &imported());
    b.wait_until_up();
    wait_for("each path is heard", || (counter(&b, "keepalives_received") >= 2).then_some(()));
    // Its first numbers are taken for old ones until it is believed that it has begun anew.
    wait_for("its packets are delivered", || {
        let (from, to) = (pair.b.udp("10.72.0.2:0"), pair.a.udp("10.72.0.1:7"));
        from.send_to(b"hello", to.local_addr().unwrap()).unwrap();
        to.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        to.recv(&mut [0; 5]).ok()
    });
    carry(&pair);

    let daemons = [&a, &b];
    let identities = [Identity::new(), Identity::new()];
    for (end, mut config) in pair.configs().into_iter().enumerate() {
        // Its directory is the only one with keys that it may read: none was named when it started.
        let key = daemons[end].config_file().with_file_name("private.key");
        fs::copy(identities[end].file(), &key).unwrap();
        config.daemon().set("private_key_file", key.to_str().unwrap());
        config.peer("tunnel").set("public_key", identities[1 - end].public());
        daemons[end].write_config(&config);
        daemons[end].request(Command::Reload).unwrap();
    }
    wait_for("the session proves every path", || {
        let proved = daemons.iter().all(|daemon| {
            let connection = daemon.connection("tunnel");
            let established = |state| state == SessionState::Established;
            connection.compat.is_none()
                && connection.session.is_some_and(|it| established(it.state))
                && connection.paths.iter().all(|path| path.state == PathState::Up)
        });
        proved.then_some(())
    });
    carry(&pair);
}
