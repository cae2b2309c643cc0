//! A program on another host asks the daemon in a session of its own: what its key may, and nothing else.

use std::net::SocketAddr;

use mpt_api::{Code, Command, EventKind, PathChange, Reply};
use mpt_client::{Error, Remote, Target};

use crate::concentrator::{admit, client, created, server};
use crate::hosts::{Capture, Config, Daemon, Identity, Line, Pair, Preshared};
use crate::support::{authenticate, control};

/// The address at which the daemon of `b` is asked.
const B: &str = "10.71.1.2:4754";

/// Returns the target of the daemon of `b`, asked with this key.
fn target(daemon: &Identity, own: &Identity) -> Target {
    Target {
        address: B.parse::<SocketAddr>().unwrap(),
        peer: daemon.public_key(),
        identity: own.private.clone(),
        psk: None,
        name: "test".into(),
    }
}

fn change(weight: u16) -> Command {
    let weight = std::num::NonZeroU16::new(weight);
    Command::SetPath {
        connection: "tunnel".into(),
        path: "line2".into(),
        change: PathChange { weight, ..PathChange::default() },
    }
}

/// Two ends with a session between them, of which `b` has a controller.
fn with_controller(pair: &Pair, controller: &Identity) -> ([Daemon; 2], [Identity; 2]) {
    let mut configs = pair.configs();
    let identities = authenticate(&mut configs);
    let section = configs[1].controller("noc").set("public_key", controller.public());
    section.set("allow", vec!["show", "path"]);
    (pair.start(&configs), identities)
}

#[test]
fn it_sees_changes_and_is_denied_the_rest() {
    let pair = Pair::with_lines(2);
    let controller = Identity::new();
    let ([_a, b], identities) = with_controller(&pair, &controller);
    let mut events = b.monitor();
    let mut remote =
        pair.a.run(|| Remote::connect(target(&identities[1], &controller))).expect("a session");

    let Ok(Reply::Snapshot(snapshot)) = remote.call(Command::Show) else { panic!() };
    assert_eq!(snapshot.daemon.pid, b.pid());
    assert_eq!(snapshot.connections[0].paths.len(), 2);
    let only = |connection: &str| Command::ShowConnection { connection: connection.into() };
    let Ok(Reply::Snapshot(snapshot)) = remote.call(only("tunnel")) else { panic!() };
    assert_eq!((snapshot.connections.len(), snapshot.devices.len()), (1, 1));
    assert_eq!(snapshot.connections[0].name, "tunnel");
    let Err(Error::Refused(failure)) = remote.call(only("other")) else { panic!() };
    assert_eq!(failure.code, Code::NotFound, "{failure}");

    assert_eq!(remote.call(change(7)), Ok(Reply::Done));
    assert_eq!(b.path("tunnel", "line2").weight, 7);

    for command in [
        Command::Reload,
        Command::Monitor,
        Command::DeleteConnection { connection: "tunnel".into() },
    ] {
        let Err(Error::Refused(failure)) = remote.call(command) else { panic!("not denied") };
        assert_eq!(failure.code, Code::Denied, "{failure}");
        assert!(failure.message.contains("[[controller]]"), "{failure}");
    }
    let wrong = Command::DeletePath { connection: "tunnel".into(), path: "line9".into() };
    let Err(Error::Refused(failure)) = remote.call(wrong) else { panic!() };
    assert_eq!(failure.code, Code::NotFound);
    let long = Command::AddPath { connection: "tunnel".into(), toml: "x".repeat(1024) };
    assert!(matches!(remote.call(long), Err(Error::Unusable(_))), "too long for a session");
    assert!(remote.call(Command::Status).is_ok(), "and it goes on");

    drop(remote);
    let named = |event: &EventKind| match event {
        EventKind::SessionEstablished { peer_name, .. } => peer_name.as_deref() == Some("noc"),
        _ => false,
    };
    assert!(events.any(|event| named(&event)));
    let lost = |event: &EventKind| match event {
        EventKind::SessionLost { peer_name, .. } => peer_name.as_deref() == Some("noc"),
        _ => false,
    };
    assert!(events.any(|event| lost(&event)), "it said goodbye");
}

#[test]
fn after_a_restart_of_the_daemon_it_goes_on() {
    let pair = Pair::with_lines(2);
    let controller = Identity::new();
    let ([_a, mut b], identities) = with_controller(&pair, &controller);
    let target = target(&identities[1], &controller);
    let mut remote = pair.a.run(|| Remote::connect(target)).expect("a session");
    assert!(remote.call(Command::Status).is_ok());
    b.signal(nix::sys::signal::Signal::SIGTERM);
    b.wait_until_ended();
    b.start_again(&pair.b);
    b.wait_until_answering();
    let Ok(Reply::Status(status)) = pair.a.run(|| remote.call(Command::Status)) else { panic!() };
    assert_eq!(status.pid, b.pid());
}

#[test]
fn a_key_that_is_no_controller_s_gets_no_answer() {
    let pair = Pair::new(&[Line::plain(); 2]);
    let mut configs = pair.configs();
    let identities = authenticate(&mut configs);
    configs[1].controller("noc").set("public_key", Identity::new().public());
    let b = Daemon::start(&pair.b, &configs[1]);
    b.wait_until_answering();
    let capture = Capture::start(&pair.b);
    let (stranger, unknown) = (Identity::new(), control(&b, "unknown_peer"));
    // Neither a stranger's key nor that of the other end of a connection.
    for (number, key) in (1..).zip([&stranger, &identities[0]]) {
        let outcome = pair.a.run(|| Remote::connect(target(&identities[1], key)));
        let Err(Error::Unreachable(message)) = outcome else { panic!("{outcome:?}") };
        assert!(message.contains("no answer within 5 s"), "{message}");
        assert!(message.contains(&key.public()), "{message}");
        assert!(control(&b, "unknown_peer") >= unknown + number);
    }
    let answers = capture.sent();
    assert!(answers.iter().all(|it| !it.is_control() || it.inner.len() != 140), "{answers:?}");
}

#[test]
fn the_preshared_key_counts() {
    let pair = Pair::with_lines(1);
    let (controller, psk) = (Identity::new(), Preshared::new());
    let mut configs = pair.configs();
    let identities = authenticate(&mut configs);
    let section = configs[1].controller("noc").set("public_key", controller.public());
    section.set("psk_file", psk.file());
    let _daemons = pair.start(&configs);
    let without = target(&identities[1], &controller);
    let psk = mpt_client::preshared_key(psk.file().as_ref()).unwrap();
    let with = Target { psk: Some(psk), ..without.clone() };
    let Err(Error::Unreachable(message)) = pair.a.run(|| Remote::connect(without)) else {
        panic!()
    };
    assert!(message.contains("compare the pre-shared key"), "{message}");
    let mut remote = pair.a.run(|| Remote::connect(with)).expect("a session");
    assert!(remote.call(Command::Show).is_ok(), "allowed by default");
    let Err(Error::Refused(failure)) = remote.call(change(7)) else { panic!("not denied") };
    assert_eq!(failure.code, Code::Denied);
}

/// One key in a `[[client]]` and in a `[[controller]]`, with the same pre-shared key in both.
#[test]
fn it_may_be_a_client_as_well() {
    let pair = Pair::with_lines(1);
    let (identity, anna, psk) = (Identity::new(), Identity::new(), Preshared::new());
    let mut config = server(&identity, &["10.71.1.2"]);
    admit(&mut config, "anna", &anna);
    config.client("anna").set("psk_file", psk.file());
    config.controller("anna").set("public_key", anna.public()).set("psk_file", psk.file());
    let b = Daemon::start(&pair.b, &config);
    let mut of_anna = client(&anna, &identity);
    of_anna.peer("office").set("psk_file", psk.file());
    of_anna.lay_path("office", 1, 1);
    let _a = Daemon::start(&pair.a, &of_anna);
    created(&b, "anna.office");
    let psk = mpt_client::preshared_key(psk.file().as_ref()).unwrap();
    let target = Target { psk: Some(psk), ..target(&identity, &anna) };
    let mut remote = pair.a.run(|| Remote::connect(target)).expect("a session");
    let Ok(Reply::Snapshot(snapshot)) = remote.call(Command::Show) else { panic!() };
    assert_eq!(snapshot.connections[0].name, "anna.office");
}

#[test]
fn a_large_answer_arrives_whole() {
    const CONNECTIONS: u8 = 120;
    let pair = Pair::with_lines(1);
    let (identity, controller) = (Identity::new(), Identity::new());
    let mut config = Config::default();
    config.daemon().set("private_key_file", identity.file());
    config.device("mpt0").set("addresses", vec!["10.72.0.2/24"]);
    config.controller("noc").set("public_key", controller.public());
    for number in 1..=CONNECTIONS {
        let name = format!("connection{number}");
        let section = config.connection(&name).set("key", i64::from(number));
        section.set("networks", vec![format!("10.72.1.{number}")]);
        config.lay_path(&name, 1, 2);
    }
    let b = Daemon::start(&pair.b, &config);
    b.wait_until_answering();
    let mut remote =
        pair.a.run(|| Remote::connect(target(&identity, &controller))).expect("a session");
    let reply = remote.call(Command::Show).unwrap();
    let length = mpt_api::to_line(&reply).len();
    assert!(length > 100_000, "{length} bytes");
    let Reply::Snapshot(snapshot) = reply else { panic!() };
    assert_eq!(snapshot.connections.len(), usize::from(CONNECTIONS));
    assert_eq!(snapshot.connections[119].name, "connection120");
}
