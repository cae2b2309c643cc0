//! Keys: those that people have, those that a handshake makes, and what is sealed with them.

pub(crate) mod erase;
mod key;
mod random;
mod replay;
pub(in crate::session) mod transport;

pub use self::key::{KEY_LEN, KEY_TEXT_LEN, KeyError, PresharedKey, PrivateKey, PublicKey};
pub use self::random::Random;
pub use self::replay::{ReplayWindow, WINDOW as REPLAY_WINDOW};
pub use self::transport::{Exhausted, MAX_PATHS, OpenError, Opened, Transport};
