//! `mpt client list`, `mpt client disconnect` and `mpt connection delete` work on the names that `mpt show` has.

use mpt_api::{Code, Command, EventKind, LossReason, Reply};

use crate::concentrator::{assigned, created, find};
use crate::hosts::Daemon;
use crate::two_clients::Office;

fn disconnect(client: &str) -> Command {
    Command::DisconnectClient { client: client.into() }
}

fn delete(connection: &str) -> Command {
    Command::DeleteConnection { connection: connection.into() }
}

/// The sentences about what was changed.
fn changes(server: &Daemon, command: Command) -> Vec<String> {
    match server.request(command) {
        Ok(Reply::Changed(changed)) => changed.changes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn with_what_they_have() {
    let mut office = Office::new();
    office.config.client("anna").set("networks", vec!["192.168.7.0/24"]);
    office.config.client("carl").set("public_key", crate::hosts::Identity::new().public());
    office.config.client("carl").set("pool", "inside");
    let running = office.start();
    let Ok(Reply::Clients(list)) = running.server.request(Command::Clients) else { panic!() };
    let names: Vec<_> = list.clients.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["anna", "bob", "carl"]);
    let anna = &list.clients[0];
    assert_eq!(anna.public_key, office.clients[0].public());
    let [connection] = &anna.connections[..] else { panic!("{anna:?}") };
    assert_eq!(connection.name, "anna.office");
    assert_eq!(connection.addresses, [assigned(&running.anna)]);
    assert_eq!(connection.networks, ["192.168.7.0/24".parse().unwrap()]);
    assert_eq!((connection.paths, connection.paths_up), (1, 1));
    assert!(list.clients[2].connections.is_empty(), "carl is not there");
}

#[test]
fn at_once_and_may_come_back() {
    let office = Office::new();
    let running = office.start();
    let of_bob = office.pulses(1, &running.bob);
    let mut events = running.server.monitor();
    for (command, said) in [
        (disconnect("anna"), "client anna: 1 session ended"),
        (delete("anna.office"), "connection anna.office: removed"),
    ] {
        created(&running.server, "anna.office");
        let address = assigned(&running.anna);
        let done = changes(&running.server, command);
        assert!(done.iter().any(|change| change.starts_with(said)), "{done:?}");
        assert!(find(&running.server, "anna.office").is_none(), "{said}");
        let removed = events.find_map(|event| match event {
            EventKind::ClientRemoved { client, connection, reason } => {
                Some((client, connection, reason))
            }
            _ => None,
        });
        let expected = ("anna".into(), "anna.office".into(), LossReason::Removed);
        assert_eq!(removed, Some(expected));
        // It comes back by itself, and gets what it had.
        created(&running.server, "anna.office");
        created(&running.anna, "office");
        assert_eq!(assigned(&running.anna), address);
    }
    of_bob.into_iter().for_each(|pulse| pulse.end().assert_complete());
}

#[test]
fn but_not_by_names_that_nobody_has() {
    let office = Office::new();
    let running = office.start();
    for command in
        [disconnect("office"), disconnect("anna.office"), delete("anna"), delete("office")]
    {
        let failure = running.server.request(command).unwrap_err();
        assert_eq!(failure.code, Code::NotFound, "{failure}");
    }
    let save = Command::SaveConnection { connection: "anna.office".into() };
    let failure = running.server.request(save).unwrap_err();
    assert!(failure.message.contains("made by client anna"), "{failure}");
    assert!(find(&running.server, "anna.office").is_some());
}
