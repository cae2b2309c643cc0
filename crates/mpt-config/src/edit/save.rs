//! Writes a connection as it is now into the text of the file, and leaves everything else as it stands, comments included.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path as FilePath;

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use crate::diff::{Change, MPTSRV, OF_PEER, SELECT, diff};
use crate::key::{self, Around, KeyValue, Keys};
use crate::load::check_text_with;
use crate::parse::draft::Select;
use crate::peers::Client;
use crate::syntax::diagnostic::{ConfigErrors, Diagnostic};
use crate::syntax::reader::KeyReader;
use crate::types::remote::Remote;
use crate::types::{Config, Connection, Selector};

/// The text of the file with the connection of this name as in `running`; without it when it does not run. `None`: the text
/// says so already.
///
/// # Errors
///
/// Fails when the file has errors, or is written in a way in which it cannot be edited.
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
    // The new text has to describe the configuration that runs. The key of this end may be needed for the first time.
    let check = check_text_with(file, &new, keys)?.config;
    wanted.daemon = check.daemon.clone();
    if !diff(&check, &wanted).changes.is_empty() {
        return Err(error("cannot be put into the file as it is written; write it by hand"));
    }
    Ok(Some(new))
}

/// The text of the file with another `[[client]]` at its end, and that client as the file now has it. Everything else stays as it stands.
///
/// # Errors
///
/// Fails when the file has errors, with the client or without it, or is written in a way in which it cannot be edited.
pub fn add_client(
    file: &str,
    text: &str,
    client: &Client,
    keys: KeyReader<'_>,
) -> Result<(String, Config), ConfigErrors> {
    let error = |message: &str| {
        ConfigErrors(vec![Diagnostic {
            file: file.to_owned(),
            line: None,
            key: "client".into(),
            message: message.to_owned(),
        }])
    };
    check_text_with(file, text, keys)?;
    let mut document: DocumentMut =
        text.parse().map_err(|cause: toml_edit::TomlError| error(cause.message()))?;
    let clients = tables(document.as_table_mut(), "client");
    let clients =
        clients.ok_or_else(|| error("is not written as [[client]] tables; write it so"))?;
    clients.push(table(client, &Around::USUAL));
    let new = document.to_string();
    let config = check_text_with(file, &new, keys)?.config;
    Ok((new, config))
}

/// Puts the text in the place of the file, in one step; its mode stays, and its owner, unless it belongs to somebody else and this is not root. A symbolic link is followed.
///
/// # Errors
///
/// Fails when the system refuses; the file is then as it was.
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
            let table = connection_table(connection, &around(connection, port));
            put(connections, name, table)?;
        }
        Change::UpdateConnection { connection, changed } => {
            let index = find(connections, name)?;
            let table = connections.get_mut(index)?;
            let around = around(connection, port);
            for key in changed {
                if key == SELECT {
                    table.remove(SELECT);
                    insert_selects(table, connection, &around);
                } else if key == MPTSRV {
                    insert_compat(table, connection, &around);
                } else if let Some(key) = key.strip_prefix(OF_PEER) {
                    let table = table.get_mut("peer")?.as_table_mut()?;
                    set(table, key, connection.peer.as_ref()?, &around);
                } else {
                    set(table, key, &**connection, &around);
                }
            }
        }
        // Its text is replaced where it stands.
        Change::RemovePath { replaced: true, .. } => {}
        Change::RemovePath { path, replaced: false, .. } => {
            let paths = paths(connections, name)?;
            let index = find(paths, path)?;
            paths.remove(index);
        }
        Change::AddPath { path, .. } => {
            let table = table(&**path, &around(wanted?, port));
            put(paths(connections, name)?, &path.name, table)?;
        }
        Change::UpdatePath { path, changed, .. } => {
            let around = around(wanted?, port);
            let paths = paths(connections, name)?;
            let index = find(paths, &path.name)?;
            let table = paths.get_mut(index)?;
            for key in changed {
                set(table, key, &**path, &around);
            }
            // One left out would follow the other.
            if !table.contains_key("weight_in") && path.weight != path.weight_in {
                set(table, "weight_in", &**path, &around);
            }
        }
        _ => {}
    }
    Some(())
}

/// Puts a table in the place of the one of this name, or behind the others.
fn put(tables: &mut ArrayOfTables, name: &str, table: Table) -> Option<()> {
    match find(tables, name) {
        Some(index) => {
            let old = tables.get_mut(index)?;
            old.clear();
            old.extend(table);
        }
        None => tables.push(table),
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

/// Writes one key; takes it out when the thing no longer has it. A comment beside the value stays.
fn set<T: Keys>(table: &mut Table, key: &str, of: &T, around: &Around<'_>) {
    let keys = key::values(of, around).into_iter();
    let Some(KeyValue { value, .. }) = keys.into_iter().find(|it| it.name == key) else {
        table.remove(key);
        return;
    };
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        None => drop(table.insert(key, Item::Value(value))),
    }
}

/// Returns what the keys of a connection and its tables follow; `port` is that of the daemon. The device is always written.
fn around(connection: &Connection, port: u16) -> Around<'static> {
    let knows_remotes = connection.paths.iter().all(|path| path.remote != Remote::Sought);
    let peer_kind = connection.peer_kind();
    Around { port, device: None, peer_kind, knows_remotes, ..Around::USUAL }
}

/// The keys that do not have their value anyway, as a table.
fn table<T: Keys>(of: &T, around: &Around<'_>) -> Table {
    let mut table = Table::new();
    for key in key::values(of, around).into_iter().filter(|key| !key.is_usual) {
        table.insert(key.name, Item::Value(key.value));
    }
    table
}

fn connection_table(connection: &Connection, around: &Around<'_>) -> Table {
    let mut whole = table(connection, around);
    if let Some(peer) = &connection.peer {
        whole.insert("peer", Item::Table(table(peer, around)));
    }
    insert_compat(&mut whole, connection, around);
    insert_selects(&mut whole, connection, around);
    let paths = connection.paths.iter().map(|path| table(path, around));
    whole.insert("path", Item::ArrayOfTables(paths.collect()));
    whole
}

/// Writes the table of a peer that is the prototype, in place of the one before.
fn insert_compat(whole: &mut Table, connection: &Connection, around: &Around<'_>) {
    if let Some(compat) = &connection.compat {
        whole.insert(MPTSRV, Item::Table(table(compat, around)));
    }
}

/// The tables of the selectors, unless they are just the networks.
fn insert_selects(whole: &mut Table, connection: &Connection, around: &Around<'_>) {
    let plain = |selector: &Selector| {
        connection.networks.contains(&selector.destination)
            && *selector == Selector::to(selector.destination)
    };
    if connection.has_plain_classes() && connection.selectors.iter().all(plain) {
        return;
    }
    let selects = connection.selectors.iter().map(|it| table(&Select::of(it, connection), around));
    whole.insert(SELECT, Item::ArrayOfTables(selects.collect()));
}
