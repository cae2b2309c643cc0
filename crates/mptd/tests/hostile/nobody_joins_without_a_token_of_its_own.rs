//! Hosts that want to join: without a token, with a wrong one, with one that another host has used, several at once, and floods of all of them beside two
//! correct peers. Exactly the owner of a token becomes a client.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use mpt_api::{Command, Reply, Token};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hosts::{Daemon, Host, Identity};
use crate::kit::{Program, alone, without_floods};
use crate::scene::{RATE, Scene, assert_fast, seconds};
use crate::the_document_is_enough_to_write_a_peer::create;

/// The longest time in which a host joins while others flood the server, in seconds.
const SOON: f64 = 5.0;

/// Two correct peers; `b` takes clients as well.
fn scene() -> Scene {
    Scene::new(|config| {
        config.daemon().set("listen", vec!["10.71.1.2"]);
        config.pool("inside").set("networks", vec!["10.73.0.0/24"]);
    })
}

/// A token of `b`, with its secret, good for longer than any test takes.
pub(crate) fn token(scene: &Scene) -> Token {
    let (networks, behind) = (Vec::new(), Vec::new());
    let lifetime_s = 86_400;
    let made = Command::AddToken { client: None, pool: None, networks, behind, lifetime_s };
    match scene.daemons[1].request(made) {
        Ok(Reply::Token(token)) => token,
        other => panic!("{other:?}"),
    }
}

fn revoke(scene: &Scene, token: &Token) {
    let revoked = scene.daemons[1].request(Command::RevokeToken { token: token.id.clone() });
    assert!(matches!(revoked, Ok(Reply::Changed(_))), "{revoked:?}");
}

/// Names and keys of the clients that `b` has, in its memory and in its file.
fn clients(daemon: &Daemon) -> Vec<(String, String)> {
    let Ok(Reply::Clients(list)) = daemon.request(Command::Clients) else { panic!() };
    let file = std::fs::read_to_string(daemon.config_file()).unwrap();
    assert_eq!(file.matches("[[client]]").count(), list.clients.len(), "{file}");
    list.clients.into_iter().map(|it| (it.name, it.public_key)).collect()
}

/// A host that joins from the attacker's network, from this port, with what else is in its file.
fn host(scene: &Scene, port: u16, secret: Option<&String>, steps: &[&str], more: &Value) -> Value {
    let mut config = json!({
        "peer": scene.identities[1].public(), "token": secret, "host": format!("host{port}"), "do": steps,
        "paths": [[format!("10.71.1.9:{port}"), "10.71.1.2:4754"]], "create": create("c"),
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    config
}

fn run(outside: &Host, config: &Value) -> Vec<Value> {
    Program::start(outside, "peer.py", config).finish()
}

/// The answer to a request to join, which is the last thing that was said.
fn answer(said: &[Value]) -> &Value {
    &said.last().expect("an answer")["answer"]
}

fn assert_joined(said: &[Value], client: &str) {
    assert_eq!(answer(said)["ok"]["joined"]["client"], client, "{said:?}");
}

fn assert_used(said: &[Value]) {
    let error = &answer(said)["error"];
    assert_eq!(error["code"], "denied", "{said:?}");
    let message = error["message"].as_str().expect("a sentence");
    assert!(message.starts_with("the token was used by another host"), "{message}");
}

#[test]
fn with_a_wrong_one() {
    let _quiet = without_floods();
    let scene = scene();
    let (outside, watch) = (&scene.outside, scene.watch());
    let right = token(&scene);
    let wrong = Some("AAAAAAAAAAAAAAAAAAAAAA==".to_owned());
    // No such token; the name of one that there is, with another secret; a token for a session of another kind.
    let silence = run(outside, &host(&scene, 4760, wrong.as_ref(), &["no_session"], &json!({})));
    assert_eq!(silence[0]["unopened"], 0, "nothing is answered: {silence:?}");
    let named = json!({ "name": right.id });
    let answered = run(outside, &host(&scene, 4761, wrong.as_ref(), &["no_session"], &named));
    assert!(answered[0]["unopened"].as_u64() > Some(0), "it does not open: {answered:?}");
    let stranger = json!({ "name": "c", "token": null });
    let silence = run(outside, &host(&scene, 4762, None, &["no_session"], &stranger));
    assert_eq!(silence[0]["unopened"], 0, "{silence:?}");
    assert!(clients(&scene.daemons[1]).is_empty());
    // The token is still good.
    let said =
        run(outside, &host(&scene, 4763, right.secret.as_ref(), &["connect", "join"], &json!({})));
    assert_joined(&said, "host4763");
    scene.assert_undisturbed(watch, "wrong tokens");
}

#[test]
fn with_one_that_was_used() {
    let _quiet = without_floods();
    let scene = scene();
    let (outside, watch) = (&scene.outside, scene.watch());
    let token = token(&scene);
    let secret = token.secret.as_ref();
    let owner = Identity::new();
    let key = json!({ "key": owner.file() });
    let steps = ["connect", "other_requests", "join"];
    let said = run(outside, &host(&scene, 4760, secret, &steps, &key));
    assert_joined(&said, "host4760");
    let codes = said[1]["codes"].as_array().unwrap();
    assert_eq!(codes.len(), 4, "nothing else is answered: {codes:?}");
    let list = vec![("host4760".to_owned(), owner.public())];
    assert_eq!(clients(&scene.daemons[1]), list);
    // The same host, whose answer may have been lost; then others.
    assert_joined(
        &run(outside, &host(&scene, 4761, secret, &["connect", "join"], &key)),
        "host4760",
    );
    for port in [4762, 4763] {
        assert_used(&run(outside, &host(&scene, port, secret, &["connect", "join"], &json!({}))));
    }
    assert_eq!(clients(&scene.daemons[1]), list);
    // The host that has joined is a client like any other.
    let client = json!({ "key": owner.file(), "token": null, "name": "c" });
    let steps = ["connect", "create", "up", "alive", "goodbye"];
    run(outside, &host(&scene, 4764, None, &steps, &client));
    // A session that is open when the token is taken back ends with it.
    revoke(&scene, &token);
    run(outside, &host(&scene, 4765, secret, &["no_session"], &json!({})));
    assert_eq!(clients(&scene.daemons[1]), list);
    scene.assert_undisturbed(watch, "a token that was used");
}

#[test]
fn of_several_at_once_exactly_one_does() {
    let _quiet = without_floods();
    let scene = scene();
    let watch = scene.watch();
    for round in 1..=4 {
        let token = token(&scene);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        // As many as a token has sessions.
        let programs: Vec<_> = (4760..4764)
            .map(|port| {
                // Half of them are asked to join at one moment, half of them shake hands then.
                let steps = match port % 2 {
                    0 => ["connect", "together", "join"],
                    _ => ["together", "connect", "join"],
                };
                let at = json!({ "at": now + 3.0 });
                let config = host(&scene, port, token.secret.as_ref(), &steps, &at);
                Program::start(&scene.outside, "peer.py", &config)
            })
            .collect();
        let said: Vec<_> = programs.into_iter().map(Program::finish).collect();
        let joined = said.iter().filter(|said| answer(said)["ok"].is_object()).count();
        assert_eq!(joined, 1, "{said:?}");
        said.iter().filter(|said| answer(said)["error"].is_object()).for_each(|it| assert_used(it));
        assert_eq!(clients(&scene.daemons[1]).len(), round);
        revoke(&scene, &token);
    }
    scene.assert_undisturbed(watch, "several hosts at once");
}

/// Floods `b` with initiations of these kinds, at 0, 1 and 10,000 per second, under reload; meanwhile a host joins with a token of its own.
fn flood(scene: &Scene, kinds: &[&str], more: &Value) {
    for (rate, seconds) in [(0, seconds()), (1, 0.5), (RATE, seconds().max(2.0))] {
        let watch = scene.watch();
        for kind in kinds {
            let (before, joined) = (scene.counters(), clients(&scene.daemons[1]).len());
            let mut config = json!({
                "from": "10.71.1.1:4754", "to": "10.71.1.2:4754", "networks": ["10.72.0.1", "10.72.0.2"],
                "responder": scene.identities[1].public(), "kinds": [kind], "rate": rate, "seconds": seconds, "sealed": true,
            });
            config["token"] = more["token"].clone();
            config["recording"] = more["recording"].clone();
            let token = token(scene);
            let honest = json!({ "host": "honest" });
            let honest = host(scene, 4770, token.secret.as_ref(), &["connect", "join"], &honest);
            scene.under_reload(|| {
                let attacker = Program::start(&scene.outside, "offpath.py", &config);
                let said = run(&scene.outside, &honest);
                let took = said[0]["seconds"].as_f64().unwrap();
                println!("{kind} at {rate} per second: a host has a session after {took:.2} s");
                assert!(answer(&said)["ok"].is_object(), "{said:?}");
                assert!(took < SOON, "{said:?}");
                let said = attacker.finish();
                if rate == RATE {
                    assert_fast(&said, rate);
                }
                scene.assert_counted(&before, &said);
            });
            revoke(scene, &token);
            assert_eq!(clients(&scene.daemons[1]).len(), joined + 1, "the honest host alone");
        }
        scene.assert_undisturbed(watch, &format!("{kinds:?} at {rate} per second"));
    }
}

#[test]
fn while_initiations_flood_in() {
    let _alone = alone();
    let scene = scene();
    let token = token(&scene);
    flood(&scene, &["joins_of_no_token", "joins_by_name"], &json!({ "token": token.id }));
}

/// A host has joined, and all that it sent is repeated, with its token and without.
#[test]
fn by_repeating_what_another_one_sent() {
    let _alone = alone();
    let scene = scene();
    let directory = TempDir::new().unwrap();
    let recording = directory.path().join("initiations");
    let token = token(&scene);
    let record = json!({ "record": recording });
    let owner = host(&scene, 4760, token.secret.as_ref(), &["connect", "connect", "join"], &record);
    assert_joined(&run(&scene.outside, &owner), "host4760");
    assert!(recorded(&recording) >= 2, "the initiations of two handshakes");
    let recording = json!({ "recording": recording });
    flood(&scene, &["recorded_joins"], &recording);
    revoke(&scene, &token);
    flood(&scene, &["recorded_joins_later"], &recording);
}

fn recorded(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap().lines().count()
}

/// The owner of a token begins handshakes under ever other keys, and asks to join as fast as it can.
#[test]
fn by_asking_as_fast_as_it_can() {
    let _alone = alone();
    let scene = scene();
    let token = token(&scene);
    let (secret, watch) = (token.secret.as_ref(), scene.watch());
    // The sessions that handshakes leave unconfirmed are gone only after ten seconds: they come last.
    for kind in ["join_requests", "joins"] {
        let before = scene.counters();
        let rate = json!({ "rate": RATE, "seconds": seconds().max(1.0) });
        let config = host(&scene, 4760, secret, &["connect", kind], &rate);
        let said = scene.under_reload(|| run(&scene.outside, &config));
        println!("{kind}: {} frames, {} per second", said[1]["sent"], said[1]["rate"]);
        let counters = match kind {
            "joins" => ["cookies_sent"],
            _ => ["requests_rate_limited"],
        };
        let counted = json!({ "kind": kind, "sent": said[1]["sent"], "counters": counters });
        scene.assert_counted(&before, &[counted]);
    }
    let list = clients(&scene.daemons[1]);
    assert_eq!(list.len(), 1, "{list:?}");
    scene.assert_undisturbed(watch, "the owner of a token");
}
