//! A line to join with that was taken back, or whose time is over, lets nobody in, and the host that uses it is told what to do.

use std::thread;
use std::time::Duration;

use crate::machines::{Scene, line_of};

#[test]
fn one_that_was_taken_back_is_answered_by_silence() {
    let scene = Scene::new(1);
    let (client, server) = (&scene.clients[0], &scene.server);
    let before = client.traces();
    let printed = server.succeeds(&["setup", "server"]);
    let line = line_of(&printed);
    let token = printed.split("It has the token ").nth(1).and_then(|it| it.split(';').next());
    let token = token.unwrap_or_else(|| panic!("no token: {printed}"));
    server.succeeds(&["setup", "token", "--revoke", token]);
    let refused = client.fails(1, &["join", "--uplink", "uplink0", &line]);
    assert!(refused.contains("or the line was taken back"), "{refused}");
    assert!(refused.contains("have another one made there with mpt setup token"), "{refused}");
    assert_eq!(client.traces(), before, "nothing is left of it");
    assert!(server.succeeds(&["client", "list"]).contains("has no [[client]]"));
}

#[test]
#[ignore = "takes a minute: make seen-test"]
fn one_whose_time_is_over_is_said_to_be() {
    let scene = Scene::new(1);
    let (client, server) = (&scene.clients[0], &scene.server);
    let line = scene.line(&["--lifetime", "1min"]);
    let before = client.traces();
    thread::sleep(Duration::from_secs(62));
    let refused = client.fails(1, &["join", "--uplink", "uplink0", &line]);
    assert!(refused.contains("does not answer, and the line ended "), "{refused}");
    assert!(refused.contains("have another one made there with mpt setup token"), "{refused}");
    assert_eq!(client.traces(), before, "nothing is left of it");
    let tokens = server.succeeds(&["setup", "token", "--list"]);
    assert!(tokens.contains("there is no token"), "{tokens}");
    // Another line lets it in.
    let line = line_of(&server.succeeds(&["setup", "token"]));
    client.succeeds(&["join", &line]);
}
