//! What may come out of a tunnel: packets of the connection's own networks, and errors about what was sent into it.

pub(super) mod foreign;
pub(super) mod scope;
mod sources;

pub use self::sources::Sources;
