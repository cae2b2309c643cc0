//! A command with a misspelled name is answered with the names that there are.

use mpt_api::{Client, Clients, Code, Failure, Reply, Response, to_line};

use crate::example::snapshot;
use crate::fake::{FakeDaemon, outcome};

/// Runs `mpt` against a daemon that first does not know a name and then answers a question about those it knows.
fn told(args: &[&str], message: &str, then: Reply) -> String {
    let refused = to_line(&Response::error(Failure::new(Code::NotFound, message)));
    let daemon = FakeDaemon::answering(refused + &to_line(&Response::result(then)));
    let outcome = daemon.run(args).1;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{args:?}");
    outcome.stderr
}

fn all() -> Reply {
    Reply::Snapshot(Box::new(snapshot()))
}

#[test]
fn connections_are_listed_the_most_similar_first() {
    for args in [
        &["show", "offise"][..],
        &["status", "offise"],
        &["path", "down", "offise", "dsl"],
        &["measure", "offise"],
        &["connection", "save", "offise"],
        &["keepalive", "offise", "1s"],
    ] {
        let said = told(args, "there is no connection \"offise\"", all());
        let expected = "mpt: there is no connection \"offise\"; the daemon has office, branch\n";
        assert_eq!(said, expected, "{args:?}");
    }
}

#[test]
fn paths_are_those_of_the_connection() {
    let said =
        told(&["path", "up", "office", "sdl"], "connection \"office\" has no path \"sdl\"", all());
    assert_eq!(said, "mpt: connection \"office\" has no path \"sdl\"; the daemon has dsl, lte\n");
}

#[test]
fn interfaces_and_clients_are_listed_too() {
    let said = told(&["interface", "up", "wan"], "no path runs over wan", all());
    assert_eq!(said, "mpt: no path runs over wan; the daemon has wwan0\n");
    let anna = Client { name: "anna".into(), public_key: String::new(), connections: Vec::new() };
    let clients = Reply::Clients(Clients { clients: vec![anna] });
    let said = told(&["client", "disconnect", "ana"], "there is no client \"ana\"", clients);
    assert_eq!(said, "mpt: there is no client \"ana\"; the daemon has anna\n");
    let none = Reply::Clients(Clients { clients: Vec::new() });
    let said = told(&["client", "disconnect", "ana"], "there is no client \"ana\"", none);
    assert_eq!(said, "mpt: there is no client \"ana\"; the daemon has none\n");
}

#[test]
fn of_a_thousand_names_ten_are_listed() {
    let mut snapshot = snapshot();
    let connection = snapshot.connections[0].clone();
    let named =
        |number| mpt_api::Connection { name: format!("client{number}"), ..connection.clone() };
    snapshot.connections = (0..1_000).map(named).collect();
    let said = told(
        &["show", "clint7"],
        "there is no connection \"clint7\"",
        Reply::Snapshot(Box::new(snapshot)),
    );
    assert!(
        said.contains("; the daemon has client7, ") && said.ends_with(" and 990 more\n"),
        "{said}"
    );
}

#[test]
fn a_daemon_that_says_no_more_is_believed() {
    let daemon = FakeDaemon::refusing(Code::NotFound, "there is no connection \"home\"");
    let expected = "mpt: there is no connection \"home\"\n";
    assert_eq!(daemon.run(&["show", "home"]).1, outcome(1, "", expected));
}
