//! Handshakes of a session: those that this end begins, and those of its peer.

pub(crate) mod agree;
pub(crate) mod greeting;
pub(crate) mod handshaking;
pub(crate) mod initiative;
pub(crate) mod joining;
pub(crate) mod respond;
