//! The key of a client decides which connections are its own, never a name that reads alike.

use mpt_api::session::{Create, PathSpec, SessionReply, SessionRequest, SessionResult};

use crate::bare_client::BareClient;
use crate::concentrator::{admit, find, server};
use crate::hosts::{Daemon, Identity, Pair};

fn create(name: &str) -> SessionRequest {
    let path = PathSpec { id: 1, name: "line1".into(), ..PathSpec::default() };
    SessionRequest::Create(Create { name: name.into(), paths: vec![path], ..Create::default() })
}

/// A client `a` that asks for `b.c` would be given what client `a.b` calls `c`: so no client is called so.
#[test]
fn by_a_name_with_a_dot() {
    let pair = Pair::with_lines(1);
    let [daemon, owner, thief] = [Identity::new(), Identity::new(), Identity::new()];
    let mut config = server(&daemon, &["10.71.1.2"]);
    admit(&mut config, "a.b", &owner);
    admit(&mut config, "a", &thief);
    let output = Daemon::run_to_end(&pair.b, &config);
    assert!(!output.status.success());
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("client.name: \"a.b\" has a dot"), "{log}");
    assert!(log.contains("write \"a-b\""), "{log}");
}

/// Two clients call their connections alike, and one of them by a name with a dot: each keeps its own.
#[test]
fn by_asking_for_what_it_is_called() {
    let pair = Pair::with_lines(2);
    let [daemon, owner, thief] = [Identity::new(), Identity::new(), Identity::new()];
    let mut config = server(&daemon, &["10.71.1.2", "10.71.2.2"]);
    admit(&mut config, "owner", &owner);
    admit(&mut config, "thief", &thief);
    config.client("thief").set("max_connections", 10);
    let b = Daemon::start(&pair.b, &config);
    b.wait_until_answering();
    let mut owners = BareClient::new(&pair, 1, &owner, &daemon, "office");
    owners.establish();
    owners.ask(&create("office"));
    let before = find(&b, "owner.office").expect("it is created");
    for name in ["office", "owner.office", "thief.owner.office", ".office"] {
        let mut thief = BareClient::new(&pair, 2, &thief, &daemon, name);
        thief.establish();
        thief.ask(&create(name));
    }
    let after = find(&b, "owner.office").expect("it is still there");
    assert_eq!(after.session.as_ref().unwrap().peer, owner.public());
    let [before_has, after_has] = [&before, &after].map(|it| (it.key, it.networks.clone()));
    assert_eq!(before_has, after_has);
    for other in b.show().connections.iter().filter(|it| it.name != "owner.office") {
        assert!(other.name.starts_with("thief."), "{}", other.name);
        assert_eq!(other.session.as_ref().unwrap().peer, thief.public());
        assert_ne!(other.key, before.key);
        assert!(other.networks.iter().all(|net| !before.networks.contains(net)));
    }
    assert_eq!(
        owners.ask(&SessionRequest::Delete {}),
        SessionReply::Ok(SessionResult::Done),
        "and its session goes on"
    );
    assert!(find(&b, "owner.office").is_none());
}

/// A session has one connection. What it asks for besides is refused, and leaves nothing behind that holds an address.
#[test]
fn by_two_names_in_one_session() {
    let pair = Pair::with_lines(2);
    let [daemon, greedy, other] = [Identity::new(), Identity::new(), Identity::new()];
    let mut config = server(&daemon, &["10.71.1.2", "10.71.2.2"]);
    admit(&mut config, "greedy", &greedy);
    config.client("greedy").set("max_connections", 2);
    admit(&mut config, "other", &other);
    let b = Daemon::start(&pair.b, &config);
    b.wait_until_answering();
    let mut greedy = BareClient::new(&pair, 1, &greedy, &daemon, "one");
    greedy.establish();
    let created = greedy.ask(&create("one"));
    assert!(matches!(created, SessionReply::Ok(SessionResult::Created(_))), "{created:?}");
    let refused = greedy.ask(&create("two"));
    assert!(matches!(refused, SessionReply::Error(_)), "{refused:?}");
    assert!(find(&b, "greedy.one").is_some(), "it keeps what it has");
    let gone = greedy.ask(&SessionRequest::Delete {});
    assert_eq!(gone, SessionReply::Ok(SessionResult::Done));
    let mut other = BareClient::new(&pair, 2, &other, &daemon, "one");
    other.establish();
    let created = other.ask(&create("one"));
    assert!(matches!(created, SessionReply::Ok(SessionResult::Created(_))), "{created:?}");
}
