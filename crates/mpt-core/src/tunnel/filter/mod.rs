//! The filter of packets that come out of a tunnel: those of the connection's own networks, and
//! errors about packets sent into it, may pass.

pub(super) mod foreign;
pub(super) mod scope;
mod sources;

pub use self::sources::Sources;
