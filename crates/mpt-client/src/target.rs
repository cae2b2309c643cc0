//! The daemon elsewhere that is asked, and the keys of the one who asks.

use std::net::SocketAddr;

use mpt_core::session::{PresharedKey, PrivateKey, PublicKey};

/// A daemon elsewhere, and the keys of the one who asks.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address at which it listens.
    pub address: SocketAddr,
    /// Its public key.
    pub peer: PublicKey,
    /// The private key of this program; the daemon has the public one in a `[[controller]]`.
    pub identity: PrivateKey,
    /// The pre-shared key, if that `[[controller]]` has one.
    pub psk: Option<PresharedKey>,
    /// Name that distinguishes the sessions of one key, at most 32 bytes: a new session takes the place of an older one of the same name, so programs
    /// that run side by side with one key need different names.
    pub name: String,
}
