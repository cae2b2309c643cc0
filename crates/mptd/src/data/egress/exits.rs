//! The way out of the data thread.

use std::time::Instant;

use crate::data::paths::table::PathTable;
use crate::data::sockets::Sockets;
use crate::data::system::System;

/// The way out: every path and its sockets, at one time.
pub(crate) struct Exits<'a, S: System> {
    /// Beginning of the round.
    pub(crate) now: Instant,
    /// The paths.
    pub(crate) paths: &'a mut PathTable,
    /// The sockets of the paths.
    pub(crate) sockets: &'a Sockets<S>,
}
