//! Table by table from the file to drafts: every value by itself, every default filled in. Checks that concern several tables are left to
//! [`super::check`].

pub(super) mod draft;

use std::net::IpAddr;

use mpt_core::path::mtu::IPV6_MINIMUM;

use super::compat::parse as compat;
use super::key::{self, Around};
use super::keys::ONE_DEVICE;
use super::peers::Peer;
use super::peers::parse as peers;
use super::syntax::reader::{Context, Lines, Located, Table};
use super::types::remote::Remote;
use super::types::{Connection, Daemon, Device, Path, PeerKind, SourcePort};
use draft::{ConnectionDraft, Draft};

pub(super) fn file(context: &Context<'_>, mut root: Table<'_>) -> Draft {
    let daemon = root.table("daemon").and_then(|table| key::table(table, &Around::USUAL));
    let Located { value: daemon, lines } =
        daemon.unwrap_or(Located { value: Daemon::default(), lines: Lines::default() });
    root.require("device", "[[device]] with a name and addresses");
    let devices = root.tables("device");
    let several_devices = devices.len() > 1;
    let devices: Vec<Located<Device>> =
        devices.into_iter().filter_map(|table| key::table(table, &Around::USUAL)).collect();
    // A device left out is the only one there is; with several, connections have to say which.
    let device = devices.first().filter(|_| !several_devices).map(|it| it.value.name.clone());
    let device = device.as_deref();
    let around = Around { port: daemon.port, device, several_devices, ..Around::USUAL };
    let connections = (root.tables("connection").into_iter())
        .filter_map(|table| connection(context, table, &around))
        .collect();
    let clients = (root.tables("client").into_iter())
        .filter_map(|table| peers::client(context, table, &around))
        .collect();
    let pools = root.tables("pool").into_iter();
    let pools = pools.filter_map(|table| key::table(table, &around)).collect();
    let controllers = (root.tables("controller").into_iter())
        .filter_map(|table| peers::controller(context, table, &around))
        .collect();
    root.finish();
    let mut draft = Draft { daemon, devices, connections, clients, pools, controllers };
    private_key(context, &mut draft, &lines);
    draft
}

/// Reads the key of this host, if anything in the file needs it. `lines` are those of `[daemon]`.
pub(super) fn private_key(context: &Context<'_>, draft: &mut Draft, lines: &Lines) {
    let peers = draft.connections.iter().filter_map(|it| it.peer.as_ref());
    let clients = draft.clients.iter().map(|it| &it.lines);
    let controllers = draft.controllers.iter().map(|it| &it.lines);
    // A pool means that clients are to join, which takes a key.
    let pools = draft.pools.iter().map(|it| &it.lines);
    let first = peers.chain(clients).chain(controllers).chain(pools).map(Lines::header).max_by_key(
        |&line| {
            // The first table of the file; those that run already have no line.
            if line == 0 { 0 } else { usize::MAX - line }
        },
    );
    let Some(first) = first.filter(|_| draft.daemon.private_key.is_none()) else { return };
    let key = "private_key_file";
    let line = if lines.has(key) { lines.of(key) } else { first };
    draft.daemon.private_key = peers::private_key(context, &draft.daemon.private_key_file, line);
}

pub(super) fn connection(
    context: &Context<'_>,
    mut table: Table<'_>,
    around: &Around<'_>,
) -> Option<ConnectionDraft> {
    let peer_kind = match (table.has("peer"), table.has("compat")) {
        (true, _) => PeerKind::Session,
        (false, true) => PeerKind::Prototype,
        (false, false) => PeerKind::Plain,
    };
    let around = Around { peer_kind, ..*around };
    let (mut connection, whole): (Connection, _) = key::read(&mut table, &around);
    if around.several_devices {
        table.require("device", ONE_DEVICE);
    }
    let selects = table.tables("select").into_iter();
    let selects = selects.filter_map(|table| key::table(table, &around)).collect();
    let peer = table.table("peer");
    let on = connection.compat.is_some();
    let compat = compat::compat(context, &mut table, on, &around);
    table.require("path", "[[connection.path]] with a name, local and remote");
    let paths: Vec<_> = (table.tables("path").into_iter())
        .filter_map(|table| path(context, table, &around))
        .collect();
    // The end that knows where the other is begins.
    let knows_remotes = paths.iter().all(|path| path.value.remote != Remote::Sought);
    let around = Around { knows_remotes, ..around };
    let peer: Option<Located<Peer>> = peer.and_then(|table| peers::peer(context, table, &around));
    let lines = table.finish();
    let (peer, peer_lines) = peer.map(|it| (it.value, it.lines)).unzip();
    let (compat, compat_lines) = compat.map(|it| (it.value, it.lines)).unzip();
    (connection.peer, connection.compat) = (peer, compat);
    whole.then_some(ConnectionDraft {
        connection,
        lines,
        selects,
        origins: Vec::new(),
        paths,
        peer: peer_lines,
        compat: compat_lines,
        is_running: false,
    })
}

/// Reads a path. In a session the address of the peer may be left out, and is found.
pub(super) fn path(
    context: &Context<'_>,
    mut table: Table<'_>,
    around: &Around<'_>,
) -> Option<Located<Path>> {
    let (path, whole): (Path, _) = key::read(&mut table, around);
    if !table.has("interface") {
        table.require(
            "local",
            "local = \"...\" with an address of this host, or interface = \"...\"",
        );
    }
    let is_found = around.peer_kind == PeerKind::Session && !table.has("remote");
    if around.peer_kind != PeerKind::Session {
        table.require("remote", "remote = \"...\" with the address of the peer");
    }
    let lines = table.finish();
    if !whole || (path.remote == Remote::Sought && !is_found) {
        return None;
    }
    let located = Located { value: path, lines };
    check_path(context, &located);
    Some(located)
}

/// Checks the keys of one path against one another.
fn check_path(context: &Context<'_>, Located { value: path, lines }: &Located<Path>) {
    let error = |key: &str, message: String| {
        context.error(lines.of(key), &format!("connection.path.{key}"), message);
    };
    let family = |address: IpAddr| if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let remote = path.remote.address();
    if let (Some(local), Some(remote)) = (path.local, remote) {
        if family(local) != family(remote) {
            error(
                "local",
                format!(
                    "{local} is an {} address, but remote {remote} is {}; write two addresses of one family",
                    family(local),
                    family(remote)
                ),
            );
        } else if local == remote {
            error(
                "remote",
                format!("{remote} is the local address; write the address of the peer"),
            );
        }
    }
    let link_local =
        |address: IpAddr| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    if path.interface.is_none() && [remote, path.local].into_iter().flatten().any(link_local) {
        error(
            "interface",
            "missing: link-local addresses say nothing without it; write interface = \"...\""
                .into(),
        );
    }
    if let Some(mtu) = path.mtu.filter(|&mtu| path.is_ipv6() && mtu < IPV6_MINIMUM) {
        error(
            "mtu",
            format!(
                "{mtu} is less than the smallest MTU of IPv6; write an integer from {IPV6_MINIMUM} to 65535"
            ),
        );
    }
    if path.remote == Remote::Sought && path.source_port != SourcePort::Fixed(path.local_port) {
        error(
            "source_port",
            format!(
                "without remote the path has to send from the port it listens on, to which the peer sends; leave \
                 source_port out, or write {}",
                path.local_port
            ),
        );
    }
    for key in ["remote_port", "remote_source_port"] {
        if path.remote == Remote::Sought && lines.has(key) {
            error(
                key,
                "has no effect without remote; leave it out, or write remote = \"...\"".into(),
            );
        }
    }
    if let Some(port) = path.port_of_remote.filter(|&port| port != path.remote_port) {
        error(
            "remote_port",
            format!(
                "{} is another port than that in remote, {port}; leave one of them out",
                path.remote_port
            ),
        );
    }
    if path.nat && path.source_port == SourcePort::Entropy {
        error(
            "source_port",
            "\"entropy\" does not work through a NAT, which would make a binding for every port; leave source_port out, \
             or write nat = false"
                .into(),
        );
    }
}
