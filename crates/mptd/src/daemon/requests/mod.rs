//! Requests to the daemon: from the control socket and from controllers, and the changes at run time that they ask for.

mod commands;
mod part;
mod reload;
pub(super) mod runtime;
mod steering;
