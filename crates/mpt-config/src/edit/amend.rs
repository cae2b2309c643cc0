//! Additions at run time: a piece of a configuration file put to the configuration that runs, and checked with it as if it stood
//! in the file.

use toml::de::DeTable;

use crate::check::{self, advice};
use crate::key::Around;
use crate::parse;
use crate::parse::draft::{ConnectionDraft, Draft};
use crate::syntax::diagnostic::{ConfigErrors, Diagnostic};
use crate::syntax::reader::{Context, KeyReader, Lines, Located, Table};
use crate::types::{Config, Connection};

/// The name of the text of a request in messages.
const REQUEST: &str = "request";

/// A configuration with something added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amended {
    /// The whole.
    pub config: Config,
    /// Warnings of probable mistakes, about the connection concerned.
    pub warnings: Vec<Diagnostic>,
}

/// Adds a path, given as the keys of one `[[connection.path]]`, to the connection of that name.
///
/// # Errors
///
/// Everything that is wrong with it; also when there is no such connection.
pub fn add_path(
    config: &Config,
    connection: &str,
    toml: &str,
    keys: KeyReader<'_>,
) -> Result<Amended, ConfigErrors> {
    amend(config, toml, keys, |context, entries, draft| {
        let Some(index) = config.connections.iter().position(|it| it.name == connection) else {
            context.error(0, "connection", format!("there is none called \"{connection}\""));
            return None;
        };
        let running = &mut draft.connections[index];
        let table = Table::named(context, entries, "connection.path");
        let peer_kind = running.connection.peer_kind();
        let around = Around { port: draft.daemon.port, peer_kind, ..Around::USUAL };
        let path = parse::path(context, table, &around)?;
        running.paths.push(path);
        Some(index)
    })
}

/// Adds a connection, given as one `[[connection]]` with its sub-tables.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn add_connection(
    config: &Config,
    toml: &str,
    keys: KeyReader<'_>,
) -> Result<Amended, ConfigErrors> {
    amend(config, toml, keys, |context, entries, draft| {
        let mut root = Table::root(context, entries);
        root.require("connection", "[[connection]] with a name, networks and paths");
        let mut tables = root.tables("connection");
        root.finish();
        if tables.len() > 1 {
            let line = tables[1].line("");
            context.error(line, "connection", "is the second; write one in a request");
            return None;
        }
        let several_devices = draft.devices.len() > 1;
        let device = draft.devices.first().filter(|_| !several_devices);
        let device = device.map(|it| it.value.name.as_str());
        let around = Around { port: draft.daemon.port, device, several_devices, ..Around::USUAL };
        let new = parse::connection(context, tables.pop()?, &around)?;
        draft.connections.push(new);
        Some(draft.connections.len() - 1)
    })
}

/// Reads a text into the draft of a configuration; `read` gives the place of the connection concerned.
fn amend(
    config: &Config,
    toml: &str,
    keys: KeyReader<'_>,
    read: impl FnOnce(&Context<'_>, &DeTable<'_>, &mut Draft) -> Option<usize>,
) -> Result<Amended, ConfigErrors> {
    let context = Context::new(REQUEST, toml, keys);
    let (table, faults) = DeTable::parse_recoverable(toml);
    for fault in &faults {
        let line = context.line(fault.span().map_or(0, |span| span.start));
        context.error(line, "", fault.message().to_owned());
    }
    if !faults.is_empty() {
        return Err(ConfigErrors(context.finish().0));
    }
    let mut draft = draft(config);
    if let Some(index) = read(&context, table.get_ref(), &mut draft) {
        parse::private_key(&context, &mut draft, &Lines::default());
        check::check(&context, &mut draft);
        if !context.has_errors() {
            advice::warn_of(&context, &draft, &draft.connections[index]);
        }
    }
    let (errors, warnings) = context.finish();
    if errors.is_empty() {
        Ok(Amended { config: check::assemble(draft), warnings })
    } else {
        Err(ConfigErrors(errors))
    }
}

/// A configuration as if it had just been read, but from nowhere.
fn draft(config: &Config) -> Draft {
    Draft {
        daemon: config.daemon.clone(),
        devices: located(&config.devices),
        connections: config.connections.iter().map(running).collect(),
        clients: located(&config.clients),
        pools: located(&config.pools),
        controllers: located(&config.controllers),
    }
}

fn running(connection: &Connection) -> ConnectionDraft {
    ConnectionDraft {
        lines: Lines::default(),
        selects: Vec::new(),
        origins: vec![("connection.networks", 0); connection.selectors.len()],
        paths: located(&connection.paths),
        peer: connection.peer.as_ref().map(|_| Lines::default()),
        compat: connection.compat.as_ref().map(|_| Lines::default()),
        is_running: true,
        connection: Connection { paths: Vec::new(), ..connection.clone() },
    }
}

fn located<T: Clone>(all: &[T]) -> Vec<Located<T>> {
    all.iter().map(|value| Located { value: value.clone(), lines: Lines::default() }).collect()
}

impl Config {
    /// The configuration as a file would say it: without what was found out at run time, the addresses of names, and the addresses and keys that servers have assigned.
    #[must_use]
    pub fn as_written(&self) -> Config {
        let mut config = self.clone();
        for device in config.devices.iter_mut().filter(|device| device.assigned) {
            device.addresses.clear();
        }
        for connection in &mut config.connections {
            connection.key = connection.requested_key;
        }
        for path in config.connections.iter_mut().flat_map(|it| &mut it.paths) {
            path.remote = path.remote.as_written();
        }
        config
    }
}
