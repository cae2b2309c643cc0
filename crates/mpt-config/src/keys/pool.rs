//! `[[pool]]`

use super::super::key::{Keys, Part, Shown, field};
use super::super::peers::Pool;
use super::NAME;
use crate::syntax::form::List;
use crate::syntax::values;

impl Keys for Pool {
    const KEYS: &'static [&'static dyn Part<Self>] = &[
        &field!(
            Pool.name,
            NAME,
            "[[client]]s call the pool by this name, which no other one has."
        )
        .vital("name = \"clients\"")
        .shown(Shown::Set("\"clients\"")),
        &field!(
            Pool.networks,
            List {
                example: "\"10.8.0.0/24\"",
                parse: values::routed_network,
                show: ToString::to_string,
            },
            "A client gets one address of each of these networks, of which there may be one of each family. Addresses that a device or a client has in \
             this file are not given away. Networks that are not those of the device are routed to it."
        )
        .required("networks = [\"10.8.0.0/24\"], from which clients get an address")
        .shown(Shown::Set("[\"10.8.0.0/24\", \"fd00:8::/64\"]")),
    ];

    fn usual() -> Self {
        Pool { name: String::new(), networks: Vec::new() }
    }
}
