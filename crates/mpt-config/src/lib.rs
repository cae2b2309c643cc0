//! The configuration file: TOML text to a checked [`Config`], or to everything that is wrong with it.
//!
//! `examples/mpt.toml` is the reference of all keys; a test holds it to what is read here. The way of the text: `reader`
//! (keys and types), `parse` (each table by itself), `check` and `selectors` (tables together), `advice` (warnings). [`diff`] tells
//! what a reload has to change; [`add_path`] and [`add_connection`] read what is added at run time, [`save()`] writes it into the
//! file.

#![forbid(unsafe_code)]

mod advice;
mod amend;
mod check;
mod compat;
mod diagnostic;
mod diff;
mod networks;
mod parse;
mod peers;
mod reader;
mod save;
mod selectors;
mod sockets;
mod types;
mod values;

use std::path::Path as FilePath;

use toml::de::DeTable;

pub use amend::{Amended, add_connection, add_path};
pub use compat::{AuthKeyFile, Compat, Create, DEFAULT_COMMAND_PORT, DEFAULT_COMPAT_KEEPALIVE};
pub use diagnostic::{ConfigErrors, Diagnostic};
pub use diff::{Change, Plan, Step, diff};
pub use mpt_client::{KeyFileError, read_key_file};
pub use networks::is_link_local;
pub use peers::{
    Addresses, Client, Controller, DEFAULT_IDLE_KEEPALIVE, DEFAULT_KEEPALIVE, DEFAULT_MAPPINGS,
    DEFAULT_MAX_CONNECTIONS, DEFAULT_MAX_PATHS, DEFAULT_MAX_WEIGHT, DEFAULT_SILENT, Peer, Pool,
    Timing,
};
pub use reader::KeyReader;
pub use save::{save, write_file};
pub use types::{
    Config, Connection, DEFAULT_BUFFER_LIMIT, DEFAULT_CREATIONS, DEFAULT_MARK, DEFAULT_MAX_CLIENTS,
    DEFAULT_MAX_DELAY, DEFAULT_PORT, DEFAULT_PRIVATE_KEY_FILE, DEFAULT_WINDOW, Daemon, Device,
    Fallback, LogFormat, Path, PortRange, Reorder, Selector, SourcePort, USUAL_MTU, USUAL_USER,
    unspecified,
};

/// Writes a time as the configuration file would have it: "500 ms".
#[must_use]
pub fn time_text(time: std::time::Duration) -> String {
    values::time(time)
}

/// Where the daemon looks unless it is told otherwise.
pub const DEFAULT_FILE: &str = "/etc/mpt/mpt.toml";

/// A file without errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// What it says.
    pub config: Config,
    /// What is allowed but probably not meant, in the order of the lines.
    pub warnings: Vec<Diagnostic>,
    /// Every key the file could have held ("connection.path.weight"), sorted.
    pub known_keys: Vec<String>,
}

/// Reads and checks a file.
///
/// # Errors
///
/// Everything that is wrong with it, not just the first thing; nothing else when it is not TOML.
pub fn load(path: &FilePath) -> Result<Checked, ConfigErrors> {
    load_with(path, &read_key_file)
}

/// The same, with the key files read by `keys`.
///
/// # Errors
///
/// As [`load`].
pub fn load_with(path: &FilePath, keys: KeyReader<'_>) -> Result<Checked, ConfigErrors> {
    let file = path.display().to_string();
    let unreadable = |message: String| {
        ConfigErrors(vec![Diagnostic {
            file: file.clone(),
            line: None,
            key: String::new(),
            message,
        }])
    };
    let bytes = std::fs::read(path).map_err(|error| {
        unreadable(format!("{error}; write the file (examples/mpt.toml shows all keys) or name another with --config"))
    })?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        let message = "not UTF-8; save the file in UTF-8".to_owned();
        ConfigErrors(vec![Diagnostic {
            line: Some(line),
            message,
            ..unreadable(String::new()).0.remove(0)
        }])
    })?;
    check_text_with(&file, text, keys)
}

/// Checks the text of a file, which is called `file` in messages.
///
/// # Errors
///
/// As [`load`].
pub fn check_text(file: &str, text: &str) -> Result<Checked, ConfigErrors> {
    check_text_with(file, text, &read_key_file)
}

/// The same, with the key files read by `keys`.
///
/// # Errors
///
/// As [`load`].
pub fn check_text_with(
    file: &str,
    text: &str,
    keys: KeyReader<'_>,
) -> Result<Checked, ConfigErrors> {
    let context = reader::Context::new(file, text, keys);
    let (table, faults) = DeTable::parse_recoverable(text);
    if !faults.is_empty() {
        for fault in faults {
            let line = context.line(fault.span().map_or(0, |span| span.start));
            context.error(line, "", fault.message().to_owned());
        }
        return Err(ConfigErrors(context.finish().0));
    }
    let mut draft = parse::file(&context, reader::Table::root(&context, table.get_ref()));
    check::check(&context, &mut draft);
    if !context.has_errors() {
        advice::warn(&context, &draft);
    }
    let (errors, warnings, known) = context.finish();
    if errors.is_empty() {
        Ok(Checked {
            config: check::assemble(draft),
            warnings,
            known_keys: known.into_iter().collect(),
        })
    } else {
        Err(ConfigErrors(errors))
    }
}
