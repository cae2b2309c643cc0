//! Checks that tables of peers, clients and controllers agree with one another and with the rest of the file.

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;

use ipnet::IpNet;

use super::{Addresses, Client, Pool};
use crate::check::repair;
use crate::check::unique::unique;
use crate::parse::draft::{ConnectionDraft, Draft};
use crate::syntax::reader::{Context, Located};
use crate::types::remote::Remote;

/// The most bytes of the name of a connection with a session: what a handshake carries.
const MAX_SESSION_NAME: usize = 32;

/// Checks everything that has to do with keys and sessions.
pub(in super::super) fn check(context: &Context<'_>, draft: &Draft) {
    own_key(context, draft);
    for connection in &draft.connections {
        session(context, connection);
    }
    assigned_devices(context, draft);
    let names = draft.clients.iter().map(|it| (it.value.name.as_str(), it.lines.of("name")));
    unique(context, "client.name", "client", names);
    let names = draft.pools.iter().map(|it| (it.value.name.as_str(), it.lines.of("name")));
    unique(context, "pool.name", "pool", names);
    let names = draft.controllers.iter().map(|it| (it.value.name.as_str(), it.lines.of("name")));
    unique(context, "controller.name", "controller", names);
    let keys = draft
        .clients
        .iter()
        .map(|it| (it.value.public_key, &it.value.name, it.lines.of("public_key")));
    twice(context, "client.public_key", "the key", "client", keys);
    let keys = (draft.controllers.iter())
        .map(|it| (it.value.public_key, &it.value.name, it.lines.of("public_key")));
    twice(context, "controller.public_key", "the key", "controller", keys);
    one_psk(context, draft);
    names_of_clients(context, draft);
    pools(context, draft);
    for client in &draft.clients {
        repair::of_client(context, &client.value, &client.lines);
        self::client(context, client, draft);
    }
    let fixed = draft.clients.iter().flat_map(|Located { value, lines }| {
        let addresses: &[IpNet] = match &value.addresses {
            Addresses::Fixed(addresses) => addresses,
            Addresses::Pool(_) => &[],
        };
        addresses.iter().map(move |net| (net.addr(), &value.name, lines.of("addresses")))
    });
    twice(context, "client.addresses", "an address", "client", fixed);
    let networks = draft.clients.iter().flat_map(|Located { value, lines }| {
        value.networks.iter().map(move |net| (*net, &value.name, lines.of("networks")))
    });
    twice(context, "client.networks", "a network", "client", networks);
    let nowhere = draft.daemon.listen.is_empty() && !context.has_errors();
    if let Some(client) = draft.clients.first().filter(|_| nowhere) {
        context.error(
            client.lines.header(),
            "daemon.listen",
            "missing: clients come from anywhere; write listen = [\"198.51.100.1\"] with the addresses of this host that \
             they send to",
        );
    }
}

/// Reports each peer, client or controller that has the key of this host.
fn own_key(context: &Context<'_>, draft: &Draft) {
    let Some(own) = draft.daemon.private_key.as_ref().map(|key| key.public()) else { return };
    let error = |line: usize, key: &str| {
        let message = "is the key of this host; write the one that `mpt pubkey` prints at the peer";
        context.error(line, key, message);
    };
    for (peer, lines) in draft.connections.iter().filter_map(ConnectionDraft::peer) {
        if peer.public_key == own {
            error(lines.of("public_key"), "connection.peer.public_key");
        }
    }
    for client in draft.clients.iter().filter(|it| it.value.public_key == own) {
        error(client.lines.of("public_key"), "client.public_key");
    }
    for controller in draft.controllers.iter().filter(|it| it.value.public_key == own) {
        error(controller.lines.of("public_key"), "controller.public_key");
    }
}

/// Checks that a key of a controller that is also that of a client, or of the peer of a connection, has one pre-shared key in both tables.
fn one_psk(context: &Context<'_>, draft: &Draft) {
    let clients = draft.clients.iter().map(|Located { value: it, lines }| {
        (it.public_key, &it.psk, format!("client \"{}\"", it.name), lines)
    });
    let peers = draft.connections.iter().filter_map(|it| {
        let (peer, lines) = it.peer()?;
        let what = format!("[connection.peer] of \"{}\"", it.connection.name);
        Some((peer.public_key, &peer.psk, what, lines))
    });
    let others: Vec<_> = clients.chain(peers).collect();
    for Located { value: controller, lines } in &draft.controllers {
        let same = others.iter().filter(|it| it.0 == controller.public_key);
        for (_, psk, what, other) in same.filter(|it| *it.1 != controller.psk) {
            // A file that holds no key is reported as that.
            if context.has_errors() {
                return;
            }
            let has = match (psk, &controller.psk) {
                (Some(_), Some(_)) => {
                    format!("has another key in psk_file in line {}", other.of("psk_file"))
                }
                (Some(_), None) => format!("has a psk_file in line {}", other.of("psk_file")),
                (None, _) => format!("in line {} has no psk_file", other.of("public_key")),
            };
            context.error(
                lines.of(if controller.psk.is_some() { "psk_file" } else { "public_key" }),
                "controller.psk_file",
                format!(
                    "{what} with the same public_key {has}; write the same psk_file into both tables, or give the \
                     controller a key pair of its own"
                ),
            );
        }
    }
}

/// No connection of the file is called as that of a client would be.
fn names_of_clients(context: &Context<'_>, draft: &Draft) {
    for connection in &draft.connections {
        let name = &connection.connection.name;
        let client = name
            .split_once('.')
            .and_then(|(client, _)| draft.clients.iter().find(|it| it.value.name == client));
        if let Some(Located { value: client, lines }) = client {
            context.error(
                connection.lines.of("name"),
                "connection.name",
                format!(
                    "\"{name}\" reads like a connection of client \"{}\" in line {}; write \"{}\"",
                    client.name,
                    lines.of("name"),
                    name.replace('.', "-")
                ),
            );
        }
    }
}

/// Checks the demands of a session on its connection.
fn session(context: &Context<'_>, draft: &ConnectionDraft) {
    let Some((peer, lines)) = draft.peer() else { return };
    // Only if the file says so; for one that runs it was settled when it came.
    let says = |key: &str| draft.is_running || lines.has(key);
    let name = &draft.connection.name;
    if name.len() > MAX_SESSION_NAME {
        context.error(
            draft.lines.of("name"),
            "connection.name",
            format!(
                "\"{name}\" has {} bytes, with [connection.peer] it has at most {MAX_SESSION_NAME}; write a shorter name",
                name.len()
            ),
        );
    }
    let most = mpt_api::session::MAX_PATHS;
    if draft.paths.len() > most {
        context.error(
            draft.paths[most].lines.header(),
            "connection.path",
            format!(
                "connection \"{name}\" has {} paths, with [connection.peer] it has at most {most}; write several connections",
                draft.paths.len()
            ),
        );
    }
    let opens = (peer.initiate && says("initiate")) || peer.create;
    let unknown = draft.paths.iter().find(|path| path.value.remote == Remote::Sought);
    if let (true, Some(path)) = (opens, unknown) {
        let key = if peer.create { "create" } else { "initiate" };
        context.error(
            path.lines.of("remote"),
            "connection.path.remote",
            format!(
                "missing, but {key} = true has this host begin; write remote = \"...\" with the address or name of the \
                 peer, or {key} = false"
            ),
        );
    }
    if peer.create && !peer.initiate && says("initiate") {
        let message = "false, but create = true has this host begin; write true";
        context.error(lines.of("initiate"), "connection.peer.initiate", message);
    }
    if !peer.create {
        return;
    }
    for Located { value: path, lines } in &draft.paths {
        let from_there = super::super::types::SourcePort::Fixed(path.local_port);
        if path.source_port != from_there {
            context.error(
                lines.of("source_port"),
                "connection.path.source_port",
                format!(
                    "the server of create = true answers to the port the path sends from, so it has to be the one it \
                     listens on; leave source_port out, or write {}",
                    path.local_port
                ),
            );
        }
    }
}

/// A device whose address a server assigns belongs to one connection, which asks for it.
fn assigned_devices(context: &Context<'_>, draft: &Draft) {
    for Located { value: device, lines } in draft.devices.iter().filter(|it| it.value.assigned) {
        let mut users = draft.connections.iter().filter(|it| it.connection.device == device.name);
        // A fault of its peer has been reported already.
        let creates = |it: &&ConnectionDraft| match &it.connection.peer {
            Some(peer) => peer.create,
            None => it.lines.has("peer"),
        };
        let clients = draft.clients.iter().any(|it| it.value.device == device.name);
        if (users.clone().filter(creates).count(), users.clone().count()) == (1, 1) && !clients {
            continue;
        }
        let error = |message: String| {
            context.error(lines.of("addresses"), "device.addresses", message);
        };
        match users.next() {
            Some(user) if users.next().is_none() && !clients => error(format!(
                "\"assigned\", but connection \"{}\" asks nobody for an address; write create = true into its \
                 [connection.peer], or addresses = [\"10.9.0.1/30\"]",
                user.connection.name
            )),
            None if !clients => error(
                "\"assigned\", but no connection uses the device; write addresses = [\"10.9.0.1/30\"]".into(),
            ),
            _ => error(
                "\"assigned\", but not only one connection uses the device; write addresses = [\"10.9.0.1/30\"], or a \
                 device for each"
                    .into(),
            ),
        }
    }
}

fn pools(context: &Context<'_>, draft: &Draft) {
    let mut earlier: Vec<(IpNet, &str)> = Vec::new();
    for Located { value: Pool { name, networks }, lines } in &draft.pools {
        let error = |message: String| {
            context.error(lines.of("networks"), "pool.networks", message);
        };
        if networks.is_empty() && lines.has("networks") && !context.has_errors() {
            error("is empty; write networks = [\"10.8.0.0/24\"]".into());
        }
        for (index, network) in networks.iter().enumerate() {
            let family = |net: &IpNet| net.addr().is_ipv4();
            if networks[..index].iter().any(|it| family(it) == family(network)) {
                error(format!(
                    "{network} is the second of its family; write it into a pool of its own"
                ));
            }
            let overlaps = |it: &&(IpNet, &str)| it.0.contains(network) || network.contains(&it.0);
            if let Some((other, owner)) = earlier.iter().find(overlaps) {
                error(format!(
                    "{network} overlaps {other} of pool \"{owner}\"; write networks that do not overlap"
                ));
            }
            if network.prefix_len() + 2 > network.max_prefix_len() {
                error(format!("{network} has no room for clients; write a larger network"));
            }
        }
        earlier.extend(networks.iter().map(|network| (*network, name.as_str())));
    }
}

fn client(
    context: &Context<'_>,
    Located { value: client, lines }: &Located<Client>,
    draft: &Draft,
) {
    let error = |key: &str, message: String| {
        context.error(lines.of(key), &format!("client.{key}"), message);
    };
    let device = draft.devices.iter().find(|device| device.value.name == client.device);
    if device.is_none() && lines.has("device") && !client.device.is_empty() {
        let names: Vec<_> = draft.devices.iter().map(|d| format!("\"{}\"", d.value.name)).collect();
        let names = if names.is_empty() { "a [[device]] first".into() } else { names.join(" or ") };
        error("device", format!("there is no device \"{}\"; write {names}", client.device));
    }
    match &client.addresses {
        Addresses::Pool(name) if !draft.pools.iter().any(|pool| pool.value.name == *name) => {
            let names: Vec<_> =
                draft.pools.iter().map(|p| format!("\"{}\"", p.value.name)).collect();
            let names =
                if names.is_empty() { "a [[pool]] first".into() } else { names.join(" or ") };
            error("pool", format!("there is no pool \"{name}\"; write {names}"));
        }
        Addresses::Fixed(_) if client.max_connections > 1 => error(
            "max_connections",
            format!(
                "{} connections cannot share the fixed addresses; write 1, or pool = \"...\" instead of addresses",
                client.max_connections
            ),
        ),
        Addresses::Fixed(addresses) => {
            let own = draft.devices.iter().flat_map(|it| &it.value.addresses);
            let own: Vec<_> = own.map(IpNet::addr).collect();
            for address in addresses.iter().filter(|it| own.contains(&it.addr())) {
                error(
                    "addresses",
                    format!("{} is an address of this host; write another", address.addr()),
                );
            }
        }
        Addresses::Pool(_) => {}
    }
    if !client.networks.is_empty() && client.max_connections > 1 {
        error(
            "max_connections",
            format!(
                "{} connections cannot share the networks behind the client; write 1, or leave networks out",
                client.max_connections
            ),
        );
    }
}

/// Reports what belongs to two of a kind.
fn twice<'n, T: Display + Eq + Hash>(
    context: &Context<'_>,
    key: &str,
    what: &str,
    noun: &str,
    all: impl Iterator<Item = (T, &'n String, usize)>,
) {
    let mut owners = HashMap::new();
    for (value, owner, line) in all {
        if let Some(earlier) = owners.get(&value) {
            let message =
                format!("{value} is {what} of {noun} \"{earlier}\" already; write another");
            context.error(line, key, message);
        } else {
            owners.insert(value, owner);
        }
    }
}
