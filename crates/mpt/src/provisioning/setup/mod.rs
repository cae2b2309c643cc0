//! `mpt setup`: makes this host a server that others can join by one line, and removes that again.

pub(crate) mod args;
pub(crate) mod host;
pub(crate) mod purpose;
pub(crate) mod questions;
pub(crate) mod server;
mod site;
pub(crate) mod step;
mod token;
mod undo;

use std::io::Write;

use args::Setup;

use crate::client::Failed;
use crate::command_line::args::Daemon;

/// Does what is asked for.
pub(crate) fn run(wanted: &Setup, daemon: &Daemon, out: &mut impl Write) -> Result<(), Failed> {
    if daemon.remote.is_some() {
        return Err(Failed::Usage(
            "a host is set up on the host itself; leave --remote out".into(),
        ));
    }
    match wanted {
        Setup::Server(wanted) => server::setup(wanted, daemon, &purpose::Purpose::Clients, out),
        Setup::Site(wanted) => site::setup(wanted, daemon, out),
        Setup::Token(wanted) => token::token(wanted, daemon, out),
        Setup::Undo(wanted) => undo::undo(wanted, out),
    }
}
