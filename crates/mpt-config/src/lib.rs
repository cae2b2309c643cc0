//! The configuration file: TOML text to a checked [`Config`], or to everything that is wrong with it.
//!
//! Each key stands once, in the table of keys (`keys`): its name, form, default and documentation, where its value is kept, and what a change of it
//! takes. Everything goes through this table: reading, [`diff`] (what a reload has to change), [`save()`] (a connection as it runs, into the file), and
//! the reference: [`example()`] (`examples/mpt.toml`) and [`manual_page()`] (mpt.toml(5)).
//!
//! The way of the text: `reader` (TOML, with lines), `parse` (each table by itself), `check` and `selectors` (tables together), `advice` (warnings).
//! [`add_path`] and [`add_connection`] read what is added at run time.

#![forbid(unsafe_code)]

mod advice;
mod amend;
mod bounds;
mod check;
mod compat;
mod diagnostic;
mod diff;
mod draft;
mod form;
mod key;
mod keys;
mod load;
mod networks;
mod parse;
mod peers;
mod reader;
mod reference;
mod reorder;
mod repair;
mod save;
mod selectors;
mod sockets;
mod types;
mod unique;
mod values;

pub use amend::{Amended, add_connection, add_path};
pub use compat::{AuthKeyFile, Compat, Create};
pub use diagnostic::{ConfigErrors, Diagnostic};
pub use diff::{Change, Plan, Step, diff};
pub use key::{KeyDoc, Reload};
pub use load::{Checked, DEFAULT_FILE, check_text, check_text_with, load, load_with};
pub use mpt_client::{KeyFileError, read_key_file};
pub use networks::is_link_local;
pub use peers::{Addresses, Client, Controller, Peer, Pool, Timing};
pub use reader::KeyReader;
pub use reference::{TableDoc, example, manual_page, tables};
pub use reorder::Reorder;
pub use save::{add_client, save, write_file};
pub use types::{
    Cap, Config, Connection, DEFAULT_PORT, DEFAULT_STATE_DIRECTORY, Daemon, Device, Fallback,
    LogFormat, Path, PortRange, Priority, Selector, SourcePort, USUAL_MTU, USUAL_USER, unspecified,
    usual_ecn,
};
pub use values::time as time_text;
