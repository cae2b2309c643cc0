//! Handshakes of a session: those that this end begins, and those of its peer.

pub(in crate::session::engine) mod agree;
pub(in crate::session::engine) mod greeting;
pub(in crate::session::engine) mod handshaking;
pub(in crate::session::engine) mod initiative;
pub(in crate::session::engine) mod joining;
pub(in crate::session::engine) mod respond;
