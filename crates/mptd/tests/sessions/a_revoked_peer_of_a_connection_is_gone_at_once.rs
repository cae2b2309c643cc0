//! The other end of a configured connection, or a controller, that the file names no more is gone when the reload has returned.

use std::net::SocketAddr;

use mpt_api::{Command, Reply};
use mpt_client::{Remote, Target};

use crate::hosts::{Config, Daemon, Identity, Pair, Preshared};
use crate::support::authenticate;
use crate::two_clients::{Forger, count_arriving};

/// A peer that goes on sending data from its own address, as before the reload, is heard before it and not after it.
fn is_heard_no_more(change: impl FnOnce(&Daemon, &mut Config)) {
    let pair = Pair::with_lines(1);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    for config in &mut configs {
        // The forged packets would have no effect if data were sealed.
        config.connection("tunnel").set("key", 7).set("seal", "off");
    }
    let [mut a, b] = pair.start(&configs);
    a.kill();
    let socket = pair.a.udp("10.71.1.1:4754");
    let inside = [("10.72.0.1".parse().unwrap(), 5000), ("10.72.0.2".parse().unwrap(), 5000)];
    let forger = Forger::new(socket, "10.71.1.2:4754", Some(7), inside);
    let receiver = pair.b.udp("10.72.0.2:5000");
    forger.send(20);
    assert_eq!(count_arriving(&receiver), 20, "while it is the peer");

    change(&b, &mut configs[1]);
    b.reload(&configs[1]);
    forger.send(20);
    assert_eq!(count_arriving(&receiver), 0, "when it is none any more");
    b.reload(&configs[1]);
    forger.send(20);
    assert_eq!(count_arriving(&receiver), 0, "nor after another reload");
    let sent = pair.b.udp("10.72.0.2:5001");
    let before = b.show().connections.iter().map(|it| it.sent.packets).sum::<u64>();
    for _ in 0..20 {
        // There may be no way at all.
        let _ = sent.send_to(&[0; 8], "10.72.0.1:5001");
    }
    let after = b.show().connections.iter().map(|it| it.sent.packets).sum::<u64>();
    assert_eq!(before, after, "and nothing is sent to it");
}

#[test]
fn when_its_key_is_changed() {
    let other = Identity::new();
    is_heard_no_more(|_, config| {
        config.peer("tunnel").set("public_key", other.public());
    });
}

#[test]
fn when_it_gets_a_pre_shared_key() {
    let psk = Preshared::new();
    is_heard_no_more(|daemon, config| {
        config.peer("tunnel").set("psk_file", daemon.adopt_file(&psk.file()));
    });
}

#[test]
fn when_its_table_is_removed() {
    is_heard_no_more(|_, config| config.remove_peer("tunnel"));
}

#[test]
fn when_the_connection_is_removed() {
    is_heard_no_more(|_, config| config.remove("tunnel", None));
}

/// A controller's session ends with its table, and its requests are not carried out.
#[test]
fn when_it_is_a_controller() {
    let pair = Pair::with_lines(1);
    let [daemon, controller] = [Identity::new(), Identity::new()];
    let mut config = Config::default();
    config.daemon().set("private_key_file", daemon.file()).set("listen", vec!["10.71.1.2"]);
    config.device("mpt0").set("addresses", vec!["10.72.0.2/24"]);
    config.controller("noc").set("public_key", controller.public());
    config.controller("other").set("public_key", Identity::new().public());
    let b = Daemon::start(&pair.b, &config);
    b.wait_until_answering();
    let target = Target {
        address: "10.71.1.2:4754".parse::<SocketAddr>().unwrap(),
        peer: daemon.public_key(),
        identity: controller.private,
        psk: None,
        name: "test".into(),
    };
    let mut remote = pair.a.run(|| Remote::connect(target)).expect("a session");
    assert!(matches!(remote.call(Command::Show), Ok(Reply::Snapshot(_))));
    config.remove_table("controller", "noc");
    b.reload(&config);
    let answer = pair.a.run(|| remote.call(Command::Show));
    assert!(!matches!(answer, Ok(_) | Err(mpt_client::Error::Refused(_))), "{answer:?}");
}
