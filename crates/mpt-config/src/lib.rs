//! The configuration file: TOML text to a checked [`Config`], or to everything that is wrong with it.
//!
//! Each key stands once, in the table of keys (`keys`): its name, form, default and documentation, where its value is kept, and what a change of it
//! takes. Everything goes through this table: reading, [`diff`] (what a reload has to change), [`save()`] (a connection as it runs, into the file), and
//! the reference: [`example()`] (`examples/mpt.toml`) and [`manual_page()`] (mpt.toml(5)).
//!
//! The way of the text: `reader` (TOML, with lines), `parse` (each table by itself), `check` (tables together, and warnings in `advice`).
//! [`add_path`] and [`add_connection`] read what is added at run time.

#![forbid(unsafe_code)]

mod check;
mod compat;
mod diff;
mod edit;
mod key;
mod keys;
mod load;
mod parse;
mod peers;
mod reference;
mod syntax;
mod types;

pub use compat::{AuthKeyFile, Compat, Create};
pub use diff::{Change, Plan, Step, diff};
pub use edit::amend::{Amended, add_connection, add_path};
pub use edit::save::{add_client, save, write_file};
pub use key::{KeyDoc, Reload};
pub use load::{Checked, DEFAULT_FILE, check_text, check_text_with, load, load_with};
pub use mpt_client::{KeyFileError, read_key_file};
pub use peers::{Addresses, Client, Controller, Peer, Pool, Timing};
pub use reference::{TableDoc, example, manual_page, tables};
pub use syntax::diagnostic::{ConfigErrors, Diagnostic};
pub use syntax::reader::KeyReader;
pub use syntax::values::time as time_text;
pub use types::networks::is_link_local;
pub use types::remote::Remote;
pub use types::reorder::Reorder;
pub use types::{
    Cap, Config, Connection, DEFAULT_PORT, DEFAULT_STATE_DIRECTORY, Daemon, Device, Fallback,
    LogFormat, Path, PortRange, Priority, Selector, SourcePort, USUAL_MTU, USUAL_USER, usual_ecn,
};
