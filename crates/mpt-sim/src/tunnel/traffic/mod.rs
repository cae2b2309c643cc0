//! The traffic of the hosts behind the tunnel: TCP flows, sparse packets that are sent back, calls, and what their packets hold.

pub(super) mod content;
pub(super) mod echo;
pub(super) mod flow;
pub(super) mod stream;
