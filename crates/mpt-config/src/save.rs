//! Writes a connection as it is now into the text of the file, and leaves everything else as it stands, comments included.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path as FilePath;

use mpt_api::{Direction, Ecn, Equalize, Late, Mapping};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value};

use super::diagnostic::{ConfigErrors, Diagnostic};
use super::diff::{Change, diff};
use super::parse::usual_source_port;
use super::reader::KeyReader;
use super::types::{Config, Connection, Fallback, OtherEnd, Path, PortRange, Selector, SourcePort};
use super::{check_text_with, values};

/// One key: its name, its value, and whether it has that value anyway.
type Key = (&'static str, Value, bool);

/// The text of the file with the connection of this name as in `running`; without it when it does not run. `None`: the text
/// says so already.
///
/// # Errors
///
/// When the file has errors, or is written in a way in which it cannot be edited.
pub fn save(
    file: &str,
    text: &str,
    running: &Config,
    name: &str,
    keys: KeyReader<'_>,
) -> Result<Option<String>, ConfigErrors> {
    let error = |message: &str| {
        ConfigErrors(vec![Diagnostic {
            file: file.to_owned(),
            line: None,
            key: "connection".into(),
            message: message.to_owned(),
        }])
    };
    let written = check_text_with(file, text, keys)?.config;
    let running = running.as_written();
    let mut wanted = written.clone();
    wanted.connections.retain(|it| it.name != name);
    if let Some(connection) = running.connection(name) {
        let place = written.connections.iter().position(|it| it.name == name);
        let place = place.unwrap_or(wanted.connections.len());
        wanted.connections.insert(place, connection.clone());
    }
    let plan = diff(&written, &wanted);
    if plan.changes.is_empty() {
        return Ok(None);
    }
    let mut document: DocumentMut =
        text.parse().map_err(|cause: toml_edit::TomlError| error(cause.message()))?;
    let inline = || error("is not written as [[connection]] tables; write it so, to have it saved");
    let connections = tables(document.as_table_mut(), "connection").ok_or_else(inline)?;
    let port = written.daemon.port;
    for change in &plan.changes {
        apply(connections, change, name, wanted.connection(name), port).ok_or_else(inline)?;
    }
    let new = document.to_string();
    // What was written has to say what runs. The key of this end may be needed for the first time.
    let check = check_text_with(file, &new, keys)?.config;
    wanted.daemon = check.daemon.clone();
    if !diff(&check, &wanted).changes.is_empty() {
        return Err(error("cannot be put into the file as it is written; write it by hand"));
    }
    Ok(Some(new))
}

/// Puts the text in the place of the file, in one step; its mode stays, and its owner, unless it belongs to somebody else and this is not root. A symbolic link is followed.
///
/// # Errors
///
/// When the system refuses; the file is then as it was.
pub fn write_file(file: &FilePath, text: &str) -> std::io::Result<()> {
    let file = std::fs::canonicalize(file)?;
    let before = std::fs::metadata(&file)?;
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let beside = file.with_file_name(name);
    let write = || {
        let mut new = std::fs::File::create(&beside)?;
        new.set_permissions(std::fs::Permissions::from_mode(before.mode() & 0o7777))?;
        match std::os::unix::fs::fchown(&new, Some(before.uid()), Some(before.gid())) {
            // Nobody but root gives files away: the new one belongs to whoever may exchange it.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {}
            done => done?,
        }
        new.write_all(text.as_bytes())?;
        new.sync_all()?;
        std::fs::rename(&beside, &file)
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(&beside);
    })
}

/// `None` when the file is not written as tables.
fn apply(
    connections: &mut ArrayOfTables,
    change: &Change,
    name: &str,
    wanted: Option<&Connection>,
    port: u16,
) -> Option<()> {
    match change {
        Change::RemoveConnection { replaced: false, .. } => {
            let index = find(connections, name)?;
            connections.remove(index);
        }
        Change::RemoveConnection { replaced: true, .. } => {}
        Change::AddConnection(connection) => {
            let table = connection_table(connection, port);
            match find(connections, name) {
                Some(index) => {
                    let old = connections.get_mut(index)?;
                    old.clear();
                    old.extend(table);
                }
                None => connections.push(table),
            }
        }
        Change::UpdateConnection { connection, changed } => {
            let index = find(connections, name)?;
            let table = connections.get_mut(index)?;
            for key in changed {
                if *key == "select" {
                    table.remove("select");
                    insert_selects(table, connection);
                } else if *key == "mptsrv" {
                    insert_compat(table, connection);
                } else if let Some(key) = key.strip_prefix("peer.") {
                    let peer = table.get_mut("peer")?.as_table_mut()?;
                    set(peer, key, &peer_keys(connection));
                } else {
                    set(table, key, &connection_keys(connection));
                }
            }
        }
        Change::RemovePath { path, .. } => {
            let paths = paths(connections, name)?;
            let index = find(paths, path)?;
            paths.remove(index);
        }
        Change::AddPath { path, .. } => {
            let other_end = wanted?.other_end();
            paths(connections, name)?.push(table(path_keys(path, port, other_end)));
        }
        Change::UpdatePath { path, changed, .. } => {
            let other_end = wanted?.other_end();
            let paths = paths(connections, name)?;
            let index = find(paths, &path.name)?;
            let table = paths.get_mut(index)?;
            let keys = path_keys(path, port, other_end);
            for key in changed {
                set(table, key, &keys);
            }
            // One left out would follow the other.
            if !table.contains_key("weight_in") && path.weight != path.weight_in {
                set(table, "weight_in", &keys);
            }
        }
        _ => {}
    }
    Some(())
}

fn find(tables: &ArrayOfTables, name: &str) -> Option<usize> {
    tables.iter().position(|it| it.get("name").and_then(Item::as_str) == Some(name))
}

fn paths<'t>(connections: &'t mut ArrayOfTables, name: &str) -> Option<&'t mut ArrayOfTables> {
    let index = find(connections, name)?;
    tables(connections.get_mut(index)?, "path")
}

/// The tables of this key, made when there are none.
fn tables<'t>(table: &'t mut Table, key: &str) -> Option<&'t mut ArrayOfTables> {
    let none = || Item::ArrayOfTables(ArrayOfTables::new());
    table.entry(key).or_insert_with(none).as_array_of_tables_mut()
}

/// Writes one key; takes it out when the thing no longer has it. What stands beside the value stays.
fn set(table: &mut Table, key: &str, keys: &[Key]) {
    let Some((_, value, _)) = keys.iter().find(|(name, ..)| *name == key) else {
        table.remove(key);
        return;
    };
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = value.clone();
            *old.decor_mut() = decor;
        }
        None => drop(table.insert(key, Item::Value(value.clone()))),
    }
}

/// A table with the keys that do not have their values anyway.
fn table(keys: Vec<Key>) -> Table {
    let mut table = Table::new();
    for (key, value, _) in keys.into_iter().filter(|(.., default)| !default) {
        table.insert(key, Item::Value(value));
    }
    table
}

fn connection_table(connection: &Connection, port: u16) -> Table {
    let mut whole = table(connection_keys(connection));
    if connection.peer.is_some() {
        whole.insert("peer", Item::Table(table(peer_keys(connection))));
    }
    insert_compat(&mut whole, connection);
    insert_selects(&mut whole, connection);
    let paths = connection.paths.iter();
    let paths = paths.map(|path| table(path_keys(path, port, connection.other_end())));
    whole.insert("path", Item::ArrayOfTables(paths.collect()));
    whole
}

/// The table of the prototype at the other end, in place of the one before.
fn insert_compat(whole: &mut Table, connection: &Connection) {
    let Some(it) = &connection.compat else { return };
    let time = |time: std::time::Duration| match time.is_zero() {
        true => "0".to_owned(),
        false => values::time(time),
    };
    let port = super::DEFAULT_COMMAND_PORT;
    let mut keys: Vec<Key> = vec![
        ("local", it.local.to_string().into(), false),
        ("remote", it.remote.to_string().into(), false),
        ("command_port", integer(it.command_port), it.command_port == port),
        ("remote_command_port", integer(it.remote_command_port), it.remote_command_port == port),
        ("authentication", it.authentication_word().into(), it.authentication_word() == "none"),
        ("keepalive", time(it.keepalive).into(), it.keepalive == super::DEFAULT_COMPAT_KEEPALIVE),
        ("dead", time(it.dead).into(), it.dead == it.usual_dead()),
    ];
    let file = it.auth_key_file.as_ref();
    keys.extend(file.map(|file| ("auth_key_file", file.to_string().into(), false)));
    if let Some(create) = &it.create {
        keys.push(("create", create.word().into(), false));
        keys.push(("create_key_file", create.key_file.to_string().into(), false));
    }
    whole.insert("mptsrv", Item::Table(table(keys)));
}

/// The tables of the selectors, unless they are just the networks.
fn insert_selects(whole: &mut Table, connection: &Connection) {
    let plain = |selector: &Selector| {
        let Selector { destination, source, protocol, source_port, destination_port, dscp } =
            *selector;
        connection.networks.contains(&destination)
            && (source, protocol, source_port, destination_port, dscp)
                == (None, None, None, None, None)
    };
    if connection.selectors.iter().all(plain) {
        return;
    }
    let selects = connection.selectors.iter().map(|selector| table(select_keys(selector)));
    whole.insert("select", Item::ArrayOfTables(selects.collect()));
}

fn strings(all: impl Iterator<Item = impl ToString>) -> Value {
    Value::Array(all.map(|it| it.to_string()).collect::<Array>())
}

fn integer(value: impl Into<i64>) -> Value {
    Value::from(value.into())
}

fn connection_keys(it: &Connection) -> Vec<Key> {
    let reorder = super::Reorder::default();
    let direction = match it.direction {
        Direction::Both => "both",
        Direction::Send => "send",
        Direction::Receive => "receive",
    };
    let mapping = match it.mapping {
        Mapping::Packet => "packet",
        Mapping::Flow => "flow",
        Mapping::Duplicate => "duplicate",
    };
    let late = match it.reorder.late {
        Late::Deliver => "deliver",
        Late::Drop => "drop",
    };
    let equalize = match it.reorder.equalize {
        Equalize::Off => "off",
        Equalize::Tcp => "tcp",
        Equalize::All => "all",
    };
    let fallback = match it.fallback {
        Fallback::Block => "block",
        Fallback::Direct => "direct",
    };
    let ecn = match it.ecn {
        Ecn::Compatibility => "compatibility",
        Ecn::Normal => "normal",
    };
    let mut keys = vec![
        ("name", it.name.as_str().into(), false),
        ("device", it.device.as_str().into(), false),
        ("networks", strings(it.networks.iter()), false),
        ("direction", direction.into(), it.direction == Direction::default()),
        ("mapping", mapping.into(), it.mapping == Mapping::default()),
        ("sequence", it.sequence.into(), it.sequence),
        ("checksum", it.checksum.into(), !it.checksum),
        ("udp_checksum", it.udp_checksum.into(), it.udp_checksum),
        ("window", integer(it.reorder.window), it.reorder.window == reorder.window),
        (
            "max_delay",
            values::time(it.reorder.max_delay).into(),
            it.reorder.max_delay == reorder.max_delay,
        ),
        ("early_release", it.reorder.early_release.into(), it.reorder.early_release),
        ("late", late.into(), it.reorder.late == reorder.late),
        ("equalize", equalize.into(), it.reorder.equalize == reorder.equalize),
        ("multicast", it.multicast.into(), !it.multicast),
        ("copy_dscp", it.copy_dscp.into(), !it.copy_dscp),
        ("ecn", ecn.into(), it.ecn == Ecn::default()),
        ("routes", it.routes.into(), it.routes),
        ("fallback", fallback.into(), it.fallback == Fallback::default()),
    ];
    keys.extend(it.key.map(|key| ("key", integer(key), false)));
    keys.extend(it.compat.as_ref().map(|_| ("compat", "mptsrv".into(), false)));
    keys
}

fn peer_keys(connection: &Connection) -> Vec<Key> {
    let Some(it) = &connection.peer else { return Vec::new() };
    let default = super::Timing::default();
    let keepalive = match it.timing.keepalive {
        zero if zero.is_zero() => "0".to_owned(),
        time => values::time(time),
    };
    let opens = connection.paths.iter().all(|path| !path.learn);
    let mut keys = vec![
        ("public_key", it.public_key.to_string().into(), false),
        ("initiate", it.initiate.into(), it.initiate == opens),
        ("create", it.create.into(), !it.create),
        ("keepalive", keepalive.into(), it.timing.keepalive == default.keepalive),
        (
            "idle_keepalive",
            values::time(it.timing.idle_keepalive).into(),
            it.timing.idle_keepalive == default.idle_keepalive,
        ),
        ("follow_weights", it.follow_weights.into(), it.follow_weights),
    ];
    let psk_file = it.psk_file.as_ref().map(|file| file.to_string_lossy().into_owned());
    keys.extend(psk_file.map(|file| ("psk_file", file.into(), false)));
    keys.extend(it.timing.dead.map(|dead| ("dead", values::time(dead).into(), false)));
    keys
}

fn select_keys(it: &Selector) -> Vec<Key> {
    let ports = |range: PortRange| range.to_string();
    let mut keys: Vec<Key> = vec![("destination", it.destination.to_string().into(), false)];
    keys.extend(it.source.map(|net| ("source", net.to_string().into(), false)));
    keys.extend(it.protocol.map(|number| ("protocol", integer(number), false)));
    keys.extend(it.source_port.map(|range| ("source_port", ports(range).into(), false)));
    keys.extend(it.destination_port.map(|range| ("destination_port", ports(range).into(), false)));
    keys.extend(it.dscp.map(|dscp| ("dscp", integer(dscp), false)));
    keys
}

fn path_keys(it: &Path, port: u16, other_end: OtherEnd) -> Vec<Key> {
    let mut keys: Vec<Key> = vec![("name", it.name.as_str().into(), false)];
    keys.extend(it.local.map(|address| ("local", address.to_string().into(), false)));
    keys.extend(it.interface.as_deref().map(|name| ("interface", name.into(), false)));
    let address = (!it.learn).then(|| it.remote.to_string());
    let remote = it.remote_name.clone().or(address);
    keys.extend(remote.map(|remote| ("remote", remote.into(), false)));
    let usual = usual_source_port(other_end, it.nat, it.local_port);
    let source_port = match it.source_port {
        SourcePort::Random => "random".into(),
        SourcePort::Entropy => "entropy".into(),
        SourcePort::Fixed(port) => integer(port),
    };
    keys.extend([
        ("local_port", integer(it.local_port), it.local_port == port),
        ("source_port", source_port, it.source_port == usual),
        ("remote_port", integer(it.remote_port), it.remote_port == super::DEFAULT_PORT),
        ("weight", integer(it.weight), it.weight == 1),
        ("weight_in", integer(it.weight_in), it.weight_in == it.weight),
        ("tier", integer(it.tier), it.tier == 0),
        ("up", it.up.into(), it.up),
        ("nat", it.nat.into(), !it.nat),
    ]);
    let implied = other_end == OtherEnd::Prototype && !it.nat;
    let implied = it.remote_source_port.filter(|&port| implied && port == it.remote_port);
    keys.extend(
        it.remote_source_port.map(|port| ("remote_source_port", integer(port), implied.is_some())),
    );
    keys.extend(it.public.map(|address| ("public", address.to_string().into(), false)));
    keys.extend(it.mtu.map(|mtu| ("mtu", integer(mtu), false)));
    keys.extend(it.rate.map(|rate| ("rate", format!("{rate} bit/s").into(), false)));
    keys
}
