//! Checks of the tables of a file against one another: names, references, tuples, MTU.

pub(super) mod advice;
mod bounds;
pub(super) mod repair;
mod selectors;
mod sockets;
pub(super) mod unique;

use std::collections::HashMap;
use std::net::IpAddr;

use ipnet::IpNet;
use mpt_api::{Mapping, Seal};
use mpt_core::path::mtu::IPV6_MINIMUM;

use super::compat::check as compat;
use super::parse::draft::{ConnectionDraft, Draft};
use super::peers;
use super::syntax::reader::{Context, Located};

use super::types::remote::Remote;
use super::types::{Config, Connection, Device, Fec, Late, Path};
use unique::unique;

/// Checks the drafts as a whole and expands their selectors.
pub(super) fn check(context: &Context<'_>, draft: &mut Draft) {
    devices(context, &draft.devices);
    let names = draft.connections.iter().map(|c| (c.connection.name.as_str(), c.lines.of("name")));
    unique(context, "connection.name", "connection", names);
    for connection in &mut draft.connections {
        connection_alone(context, connection, &draft.devices);
        compat::check(context, connection, &draft.devices);
    }
    peers::check::check(context, draft);
    compat::conflicts(context, &draft.connections);
    selectors::conflicts(context, &draft.connections);
    multicast(context, &draft.connections);
    routes(context, &draft.connections);
    tuples(context, &draft.connections);
    sockets::check(context, draft);
}

/// The drafts put together; sound only when [`check`] found no error.
pub(super) fn assemble(draft: Draft) -> Config {
    let connections = draft.connections.into_iter().map(|mut draft| {
        draft.connection.paths = draft.paths.into_iter().map(|path| path.value).collect();
        draft.connection
    });
    Config {
        daemon: draft.daemon,
        devices: draft.devices.into_iter().map(|device| device.value).collect(),
        connections: connections.collect(),
        clients: draft.clients.into_iter().map(|client| client.value).collect(),
        pools: draft.pools.into_iter().map(|pool| pool.value).collect(),
        controllers: draft.controllers.into_iter().map(|controller| controller.value).collect(),
    }
}

fn devices(context: &Context<'_>, devices: &[Located<Device>]) {
    let names = devices.iter().map(|d| (d.value.name.as_str(), d.lines.of("name")));
    unique(context, "device.name", "device", names);
    let mut owners: HashMap<IpAddr, &str> = HashMap::new();
    for Located { value: device, lines } in devices {
        if device.addresses.is_empty()
            && !device.assigned
            && lines.has("addresses")
            && !context.has_errors()
        {
            let message = "is empty; write addresses = [\"10.9.0.1/30\"]";
            context.error(lines.of("addresses"), "device.addresses", message);
        }
        for address in &device.addresses {
            if let Some(owner) = owners.insert(address.addr(), &device.name) {
                context.error(
                    lines.of("addresses"),
                    "device.addresses",
                    format!(
                        "{} is an address of device \"{owner}\" already; write another",
                        address.addr()
                    ),
                );
            }
        }
        let v6 = device.addresses.iter().any(|address| matches!(address, IpNet::V6(_)));
        if let Some(mtu) = device.mtu.filter(|&mtu| v6 && mtu < IPV6_MINIMUM) {
            context.error(
                lines.of("mtu"),
                "device.mtu",
                format!(
                    "{mtu} is too small for the device's IPv6 addresses; write at least {IPV6_MINIMUM}, \
                     or take the IPv6 addresses out"
                ),
            );
        }
    }
}

/// Checks everything that one connection needs by itself, and its selectors.
fn connection_alone(
    context: &Context<'_>,
    draft: &mut ConnectionDraft,
    devices: &[Located<Device>],
) {
    let ConnectionDraft { connection, lines, selects, origins, paths, compat, is_running, .. } =
        draft;
    let error = |key: &str, message: String| {
        context.error(lines.of(key), &format!("connection.{key}"), message);
    };
    let device = devices.iter().find(|device| device.value.name == connection.device);
    if device.is_none() && lines.has("device") && !connection.device.is_empty() {
        let names: Vec<_> = devices.iter().map(|d| format!("\"{}\"", d.value.name)).collect();
        let names = if names.is_empty() { "a [[device]] first".into() } else { names.join(" or ") };
        error("device", format!("there is no device \"{}\"; write {names}", connection.device));
    }
    let mut seen = Vec::new();
    for network in &connection.networks {
        if seen.contains(&network) {
            error("networks", format!("{network} is listed twice; write it once"));
        }
        seen.push(network);
    }
    if connection.mapping == Mapping::Duplicate && !connection.sequence {
        error(
            "sequence",
            "false, but mapping = \"duplicate\" tells copies by their sequence numbers; write true"
                .into(),
        );
    }
    if connection.mapping == Mapping::Adaptive && !connection.sequence {
        error(
            "sequence",
            "false, but mapping = \"adaptive\" measures the paths by sequence numbers; write true"
                .into(),
        );
    }
    let has_session = connection.peer.is_some() || lines.has("peer");
    if connection.mapping == Mapping::Adaptive && !has_session && compat.is_none() {
        error(
            "mapping",
            "\"adaptive\" learns from the reports of a session; add a table [connection.peer], or write \"packet\" with a \
             weight for each path"
                .into(),
        );
    }
    if connection.seal != Seal::Off && !has_session {
        error(
            "seal",
            "data is sealed under the keys of a session; add a table [connection.peer], or write \"off\"".into(),
        );
    }
    if connection.seal != Seal::Off && connection.checksum {
        error(
            "checksum",
            if lines.has("seal") {
                "true, but sealed packets have a tag that says more; write false, or seal = \"off\""
            } else {
                "true, but data of a session is sealed unless seal = \"off\", and sealed packets have a tag that says more; write \
                 false, or seal = \"off\" at both ends"
            }
            .into(),
        );
    }
    let names = paths.iter().map(|p| (p.value.name.as_str(), p.lines.of("name")));
    unique(context, "connection.path.name", "path", names);
    if let Some(v6) = paths.iter().find(|path| path.value.is_ipv6())
        && !connection.udp_checksum
    {
        error(
            "udp_checksum",
            format!(
                "false, but path \"{}\" runs over IPv6, where mpt always sends the checksum; write true",
                v6.value.name
            ),
        );
    }
    let is_v6 = |net: &IpNet| matches!(net, IpNet::V6(_));
    let inner_v6 = connection.networks.iter().any(is_v6)
        || device.is_some_and(|device| device.value.addresses.iter().any(is_v6));
    bounds::check(context, connection, paths);
    for Located { value: path, lines } in paths.iter() {
        let overhead = connection.overhead(path);
        if let Some(mtu) = path.mtu.filter(|&mtu| inner_v6 && mtu - overhead < IPV6_MINIMUM) {
            let (left, least) = (mtu - overhead, IPV6_MINIMUM + overhead);
            let remedy = match mtu - connection.plain_overhead(path) {
                plain if plain > left && plain >= IPV6_MINIMUM => format!(
                    "write at least {least}, take the IPv6 networks and addresses out, or write seal = \"off\" at both ends, which \
                     leaves {plain}"
                ),
                _ => format!("write at least {least}, or take the IPv6 networks and addresses out"),
            };
            context.error(
                lines.of("mtu"),
                "connection.path.mtu",
                format!(
                    "{mtu} leaves {left} bytes for inner packets, IPv6 needs {IPV6_MINIMUM}; {remedy}"
                ),
            );
        }
    }
    repair::of_connection(context, connection, lines, selects);
    if !*is_running {
        let expanded = selectors::expand(context, connection, lines, selects);
        let prompt = expanded.iter().filter(|it| it.late == Late::Deliver);
        connection.prompt = prompt.map(|it| it.selector).collect();
        let of = |fec: Fec| {
            expanded.iter().filter(move |it| it.fec == fec).map(|it| it.selector).collect()
        };
        (connection.protected, connection.unprotected) = (of(Fec::On), of(Fec::Off));
        if connection.direction.sends() {
            let selectors = expanded.into_iter().map(|it| (it.selector, it.origin));
            (connection.selectors, *origins) = selectors.unzip();
        }
    }
}

fn multicast(context: &Context<'_>, drafts: &[ConnectionDraft]) {
    let mut owners: HashMap<&str, &str> = HashMap::new();
    for ConnectionDraft { connection, lines, .. } in
        drafts.iter().filter(|d| d.connection.multicast)
    {
        if let Some(owner) = owners.insert(&connection.device, &connection.name) {
            context.error(
                lines.of("multicast"),
                "connection.multicast",
                format!(
                    "connection \"{owner}\" carries the multicast of device \"{}\" already; write false in one of them",
                    connection.device
                ),
            );
        }
    }
}

/// One network can be routed to one device only.
fn routes(context: &Context<'_>, drafts: &[ConnectionDraft]) {
    let mut owners: HashMap<IpNet, &Connection> = HashMap::new();
    for ConnectionDraft { connection, lines, .. } in drafts.iter().filter(|d| d.connection.routes) {
        for network in &connection.networks {
            let owner = *owners.entry(*network).or_insert(connection);
            if owner.fallback != connection.fallback {
                context.error(
                    lines.of("fallback"),
                    "connection.fallback",
                    format!(
                        "differs from that of connection \"{}\", which routes {network}, too; write the same in both",
                        owner.name
                    ),
                );
            }
            if owner.device != connection.device {
                context.error(
                    lines.of("networks"),
                    "connection.networks",
                    format!(
                        "{network} is routed to device \"{}\" by connection \"{}\" already; write routes = false in one \
                         of them",
                        owner.device, owner.name
                    ),
                );
            }
        }
    }
}

/// Two paths between which a received packet could not be assigned: the same addresses, ports and GRE key.
fn tuples(context: &Context<'_>, drafts: &[ConnectionDraft]) {
    type Group<'p> = (&'p Remote, u16, Option<u32>);
    let mut groups: HashMap<Group<'_>, Vec<(&Connection, &Path)>> = HashMap::new();
    for draft in drafts {
        let connection = &draft.connection;
        // A path that learns its remote address is told apart by the address that its session has found.
        for Located { value: path, lines } in &draft.paths {
            let remote = match &path.remote {
                Remote::Address(address) => address.to_string(),
                Remote::Name { name, .. } => name.clone(),
                Remote::Sought => continue,
            };
            let group = groups.entry((&path.remote, path.local_port, connection.key)).or_default();
            if let Some((other_connection, other)) =
                group.iter().find(|(_, other)| same_socket(path, other) && same_source(path, other))
            {
                let ports = format!("local port {} and remote {remote}", path.local_port);
                let message = if connection.name == other_connection.name {
                    format!(
                        "path \"{}\" has the addresses and ports of path \"{}\" ({ports}), and what arrives could be of \
                         either; write another local address, or a remote_source_port for each",
                        path.name, other.name
                    )
                } else {
                    format!(
                        "path \"{}\" has the addresses, ports and key of path \"{}\" of connection \"{}\" ({ports}); \
                         write key = ... with a different number in each connection",
                        path.name, other.name, other_connection.name
                    )
                };
                context.error(lines.header(), "connection.path", message);
            }
            group.push((connection, path));
        }
    }
}

/// True if both surely receive on one socket. A path known by its address and one known by its interface may or may not.
fn same_socket(a: &Path, b: &Path) -> bool {
    match ((a.local, &a.interface), (b.local, &b.interface)) {
        ((Some(a), None), (Some(b), _)) | ((Some(a), _), (Some(b), None)) => a == b,
        ((a_local, Some(a)), (b_local, Some(b))) => {
            a == b && (a_local == b_local || a_local.is_none() || b_local.is_none())
        }
        _ => false,
    }
}

fn same_source(a: &Path, b: &Path) -> bool {
    match (a.remote_source_port, b.remote_source_port) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    }
}
