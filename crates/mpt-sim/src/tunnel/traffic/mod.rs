//! The traffic of the hosts behind the tunnel: TCP flows, sparse packets that are sent back, calls, and the contents of their packets.

pub(super) mod content;
pub(super) mod echo;
pub(super) mod flow;
pub(super) mod stream;
