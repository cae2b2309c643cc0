//! `[[client]]`

use std::time::Duration;

use mpt_api::{Mapping, Repair, Seal};
use mpt_core::session::PublicKey;

use super::super::key::{Keys, Part, Reload, Shown, Within, field, key};
use super::super::peers::{Addresses, Client, Timing};
use super::connection::{MAPPINGS, REPAIRS, SEALS};
use super::{DEVICE, KEY, KEY_FILE, PSK_FILE, PUBLIC_KEY_MISSING, no_key};
use crate::syntax::form::{Choice, Choices, Integer, List, text, time};
use crate::syntax::values;
use crate::types::reorder::Reorder;

impl Keys for Client {
    const KEYS: &'static [&'static dyn Part<Self>] = &[
        &field!(
            Client.name,
            text("letters, digits, \"_\", \"-\"", values::client_name, String::clone),
            "The command line and the log call the client by this name, which has no dot; the connections of the client are called NAME.CONNECTION."
        )
        .vital("name = \"anna\"")
        .shown(Shown::Set("\"anna\"")),
        &field!(
            Client.public_key,
            KEY,
            "Public key of the client, which no other one has."
        )
        .vital(PUBLIC_KEY_MISSING)
        .shown(Shown::Set("\"yuKLRdlJKIAGv7PeoC46PsFX2ZmrY12rf33Uzxz7yVo=\"")),
        &field!(
            Client.psk_file?,
            KEY_FILE,
            PSK_FILE
        )
        .differing_by(|old, new| old.psk != new.psk)
        .shown(Shown::Example("\"/etc/mpt/anna.psk\"")),
        &field!(
            Client.device,
            DEVICE,
            "The connections of the client use this [[device]]. By default they use the only one there is."
        )
        .follows(|_, around| around.device.map(str::to_owned)),
        &key(
            "pool",
            text("the name of a [[pool]]", values::name, String::clone),
            |it: &Client| match &it.addresses {
                Addresses::Fixed(_) => None,
                Addresses::Pool(pool) => Some(pool.clone()),
            },
            |it, value| it.addresses = Addresses::Pool(value),
            "This [[pool]] gives the client its inner addresses, one of each family. Without it the client has addresses of its own."
        )
        .at_reload(Reload::Elsewhere)
        .shown(Shown::Set("\"clients\"")),
        &key(
            "addresses",
            List {
                example: "\"10.8.0.7/24\"",
                parse: values::interface_address,
                show: ToString::to_string,
            },
            |it: &Client| match &it.addresses {
                Addresses::Fixed(addresses) => Some(addresses.clone()),
                Addresses::Pool(_) => None,
            },
            |it, value| it.addresses = Addresses::Fixed(value),
            "The client always has these inner addresses instead of some of a pool, and therefore a single connection."
        )
        .differing_by(|old, new| old.addresses != new.addresses)
        .shown(Shown::Apart("[\"10.9.0.3/24\"]")),
        &key(
            "networks",
            List {
                example: "\"192.168.7.0/24\"",
                parse: values::routed_network,
                show: ToString::to_string,
            },
            |it: &Client| Some(it.networks.clone()).filter(|networks| !networks.is_empty()),
            |it, value| it.networks = value,
            "The networks behind the client, which it may send from and is sent to besides its inner addresses. By default there are none."
        )
        .shown(Shown::Example("[\"192.168.7.0/24\"]")),
        &field!(
            Client.max_connections,
            Integer { noun: "a number", range: 1..=65_535 },
            "The client may have at most so many connections at one time."
        ),
        &field!(
            Client.max_paths,
            Integer { noun: "a number", range: 1..=mpt_api::session::MAX_PATHS as u64 },
            "Each connection of the client may have at most so many paths."
        ),
        &field!(
            Client.max_weight,
            Integer { noun: "a weight", range: 1..=65_535 },
            "The largest weight that the client may give a path."
        ),
        &field!(
            Client.seal,
            Choice(&SEALS),
            "Whether the data of the client's connections is encrypted and authenticated, as in [[connection]]: with \"require\" a client that does not do so \
             gets no data."
        ),
        &field!(
            Client.mappings,
            Choices { words: || MAPPINGS.to_vec(), fault: "is not a mapping" },
            "The client may ask for these mappings. With \"duplicate\" this host sends every packet once for each path."
        ),
        &field!(
            Client.repair,
            Choice(&REPAIRS),
            "What becomes of packets that are lost, where the client has asked for mapping = \"adaptive\": \"auto\", \"all\" or \"off\", as with a \
             [[connection]]."
        ),
        &field!(
            Client.silent,
            // Shorter than an idle client's keepalives would remove clients that are well.
            time(Duration::from_secs(30)..=Duration::from_secs(86_400)),
            "A connection is removed when all its paths have been silent for this long."
        ),
        &Within {
            get: |it: &Client| &it.timing,
            get_mut: |it| &mut it.timing,
            note: Some("Probes of the paths from here, as in [connection.peer]."),
        },
        &Within {
            get: |it: &Client| &it.reorder,
            get_mut: |it| &mut it.reorder,
            note: Some("The receive window of the client's connections, as in [[connection]]."),
        },
    ];

    fn usual() -> Self {
        Client {
            name: String::new(),
            public_key: no_key(),
            psk: None,
            psk_file: None,
            device: String::new(),
            addresses: Addresses::Fixed(Vec::new()),
            networks: Vec::new(),
            max_connections: 1,
            max_paths: 8,
            max_weight: 1000,
            seal: Seal::On,
            mappings: vec![Mapping::Packet, Mapping::Adaptive, Mapping::Flow, Mapping::Duplicate],
            repair: Repair::default(),
            silent: Duration::from_secs(300),
            timing: Timing::default(),
            reorder: Reorder::default(),
        }
    }
}

impl Client {
    /// Returns a client with every setting at its default, whose addresses come from the [`Pool`](crate::Pool) of this
    /// name.
    #[must_use]
    pub fn of_pool(name: String, public_key: PublicKey, device: String, pool: String) -> Self {
        Client { name, public_key, device, addresses: Addresses::Pool(pool), ..Keys::usual() }
    }
}
