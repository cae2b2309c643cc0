//! Which daemon elsewhere is asked, and by whom.

use std::net::SocketAddr;

use mpt_core::session::{PresharedKey, PrivateKey, PublicKey};

/// A daemon elsewhere, and who asks.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its public key.
    pub peer: PublicKey,
    /// Our private key; the daemon has the public one in a `[[controller]]`.
    pub identity: PrivateKey,
    /// The pre-shared key, if that `[[controller]]` has one.
    pub psk: Option<PresharedKey>,
    /// Tells the sessions of one key apart, at most 32 bytes: a new one takes the place of an older one of the same name,
    /// so programs that run side by side with one key need different names.
    pub name: String,
}
