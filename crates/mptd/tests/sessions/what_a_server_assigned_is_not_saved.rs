//! A connection that a server created is saved as its administrator wrote it: the server may assign something else next time.

use std::fs;

use mpt_api::{Command, Reply};

use crate::concentrator::{admit, assigned, client, created, server};
use crate::hosts::{Daemon, Identity, Pair};

#[test]
fn neither_its_key_nor_its_addresses() {
    let pair = Pair::with_lines(1);
    let identities = [Identity::new(), Identity::new()];
    let mut at_server = server(&identities[1], &["10.71.1.2"]);
    admit(&mut at_server, "anna", &identities[0]);
    let mut at_client = client(&identities[0], &identities[1]);
    at_client.lay_path("office", 1, 1);
    let [a, b] = [Daemon::start(&pair.a, &at_client), Daemon::start(&pair.b, &at_server)];
    created(&b, "anna.office");
    let key = created(&a, "office").key.expect("the server assigns one");
    let address = assigned(&a);

    let before = fs::read_to_string(a.config_file()).unwrap();
    let save = || match a.request(Command::SaveConnection { connection: "office".into() }) {
        Ok(Reply::Changed(changed)) => changed.changes,
        other => panic!("{other:?}"),
    };
    assert!(save().is_empty(), "nothing was changed by hand");
    assert_eq!(fs::read_to_string(a.config_file()).unwrap(), before);

    let weight = std::num::NonZeroU16::new(9);
    a.set_path("office", "line1", mpt_api::PathChange { weight, ..Default::default() });
    assert_eq!(save().len(), 1);
    let after = fs::read_to_string(a.config_file()).unwrap();
    assert!(after.contains("weight = 9"), "{after}");
    for assigned in [key.to_string(), address.to_string()] {
        assert!(!after.contains(&assigned), "{assigned} was assigned:\n{after}");
    }
    // A reload keeps what was assigned.
    a.request(Command::Reload).unwrap();
    assert_eq!((created(&a, "office").key, assigned(&a)), (Some(key), address));
}
