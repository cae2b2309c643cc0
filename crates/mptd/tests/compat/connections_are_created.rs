//! Creation of a connection (0xA3), as its client and as its server, where the file allows it.

use mpt_api::PathChange;

use crate::hosts::traffic::deliver;
use crate::hosts::{Pair, wait_for};
use crate::prototype::{COMMAND_PORT, Creation, DOWN, OUR_COMMAND_PORT, PORT, Setup, counter};

#[test]
fn a_prototype_creates_what_we_ask_for() {
    for authentication in [0, 1, 2] {
        let pair = Pair::with_lines(2);
        let setup = Setup { authentication, create: Some(Creation::Ours), ..Setup::default() };
        let (daemon, mut prototype) = setup.start(&pair);
        let created = prototype.wait_for("a creation", |it| it.get("created_for").is_some());
        let connection = &created["created_for"];
        for (key, value) in [
            ("ip_local", "10.72.0.1".to_owned()),
            ("ip_remote", "10.72.0.2".to_owned()),
            ("local_port", PORT.to_string()),
            ("remote_port", PORT.to_string()),
            ("local_cmd_port", OUR_COMMAND_PORT.to_string()),
            ("remote_cmd_port", COMMAND_PORT.to_string()),
            ("path_count", "2".to_owned()),
            // Ours is larger, which would make it crash.
            ("reorder_window", "10000".to_owned()),
            ("auth_type", authentication.to_string()),
        ] {
            assert_eq!(connection[key], value, "{key}");
        }
        wait_for("it is told", || (counter(&daemon, "commands_done") == 1).then_some(()));
        assert!(daemon.log().contains("the peer has created the connection"), "{}", daemon.log());
        // Now it knows what we tell it, by the authentication that was agreed on.
        daemon.set_path("tunnel", "line1", PathChange { up: Some(false), ..Default::default() });
        prototype.wait_for_status(0, DOWN);
        deliver(&pair.b.udp("10.72.0.2:0"), &pair.a.udp("10.72.0.1:7"), 100);
    }
}

#[test]
fn we_answer_a_prototype_that_asks() {
    for authentication in [0, 2] {
        let pair = Pair::with_lines(2);
        let setup = Setup { authentication, create: Some(Creation::Theirs), ..Setup::default() };
        let (daemon, mut prototype) = setup.start(&pair);
        prototype.tell("create");
        let done = prototype.wait_for("an answer", |it| it.get("create").is_some());
        assert_eq!(done["create"], 0, "{done}");
        // Our end, as the client reads it.
        for (key, value) in [
            ("ip_local", "10.72.0.1".to_owned()),
            ("ip_remote", "10.72.0.2".to_owned()),
            ("local_port", PORT.to_string()),
        ] {
            assert_eq!(done["adopted"][key], value, "{done}");
        }
        let logged = "the peer asks for the connection and gets it";
        wait_for("it is logged", || daemon.log().contains(logged).then_some(()));
        prototype.tell("path down 10.71.1.2 10.71.1.1");
        let told = prototype.wait_for("it has told us", |it| it["told"] == 0);
        assert_eq!(told["code"], 0, "{told}");
    }
}

/// A creation is neither read nor answered without the switch.
#[test]
fn nobody_is_answered_without_the_switch() {
    let pair = Pair::with_lines(2);
    let (daemon, mut prototype) = Setup::default().start(&pair);
    prototype.tell("create");
    let done = prototype.wait_for("its end", |it| it.get("create").is_some());
    assert_eq!(done["create"], 1, "no answer: {done}");
    assert_eq!(counter(&daemon, "unknown_code"), 6);
}
