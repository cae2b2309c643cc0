//! `[[device]]`

use ipnet::IpNet;
use mpt_core::path::mtu::IPV4_MINIMUM;
use toml_edit::Value;

use super::super::key::{Keys, Part, Shown, field, key};
use super::super::types::Device;
use crate::syntax::form::{Form, Integer, List, text};
use crate::syntax::reader::Table;
use crate::syntax::values;

/// The word for addresses that a server assigns.
const ASSIGNED: &str = "assigned";
const LIST: List<IpNet> = List {
    example: "\"10.9.0.1/30\"",
    parse: values::interface_address,
    show: ToString::to_string,
};

/// Addresses of a device; `None`: a server assigns them.
struct Addresses;

impl Form<Option<Vec<IpNet>>> for Addresses {
    fn read(&self, table: &mut Table<'_>, key: &'static str) -> Option<Option<Vec<IpNet>>> {
        match table.is_word(key, ASSIGNED) {
            true => table.parsed(key, "\"assigned\"", |_| Ok(None)),
            false => LIST.read(table, key).map(Some),
        }
    }

    fn write(&self, value: &Option<Vec<IpNet>>) -> Value {
        value.as_ref().map_or(ASSIGNED.into(), |addresses| LIST.write(addresses))
    }

    fn describe(&self) -> String {
        format!("{}, or \"{ASSIGNED}\"", LIST.describe())
    }
}

impl Keys for Device {
    const KEYS: &'static [&'static dyn Part<Self>] = &[
        &field!(
            Device.name,
            text("a name such as \"mpt0\"", values::interface, String::clone),
            "The device has this name in the system, of at most 15 characters. A device of this name that exists already is an error."
        )
        .vital("name = \"mpt0\"")
        .shown(Shown::Set("\"mpt0\"")),
        &key(
            "addresses",
            Addresses,
            |it: &Device| Some((!it.assigned).then(|| it.addresses.clone())),
            |it, value| {
                it.assigned = value.is_none();
                it.addresses = value.unwrap_or_default();
            },
            "This host has these addresses inside the tunnel, IPv4 or IPv6, with the prefix length of their network. \"assigned\" stands for \
             those that the server gives to the only connection of the device, which has create = true in its [connection.peer]."
        )
        .required("addresses = [\"10.9.0.1/30\"]")
        .shown(Shown::Set("[\"10.9.0.1/30\", \"fd00:9::1/64\"]")),
        &field!(
            Device.mtu?,
            Integer { noun: "an MTU", range: IPV4_MINIMUM as u64..=65_535 },
            "The largest packet inside the tunnel has this many bytes. By default it is what fits the path with the smallest MTU of all."
        )
        .shown(Shown::Example("1444")),
    ];

    fn usual() -> Self {
        Device { name: String::new(), addresses: Vec::new(), assigned: false, mtu: None }
    }
}
