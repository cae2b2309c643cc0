//! The control protocol: authenticated sessions between two ends, and what they tell each other
//! about their paths (docs/protocol.md, part 2).

mod key;
mod mac;
mod random;
mod replay;

pub use key::{KEY_LEN, KEY_TEXT_LEN, KeyError, PresharedKey, PrivateKey, PublicKey};
pub use random::Random;
pub use replay::{ReplayWindow, WINDOW as REPLAY_WINDOW};
