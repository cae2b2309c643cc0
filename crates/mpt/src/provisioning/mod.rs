//! Commands that make a host ready: keys, a server that others can join, a client of such a server, and a configuration from the prototype's files.

pub(super) mod import;
pub(super) mod join;
pub(super) mod keys;
pub(super) mod setup;
