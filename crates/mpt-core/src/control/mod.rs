//! The control protocol: authenticated sessions between two ends, and what they tell each other
//! about their paths (docs/protocol.md, part 2).

mod admission;
pub mod announce;
mod cookie;
mod engine;
pub mod exchange;
mod handshake;
mod key;
pub mod liveness;
mod mac;
pub mod measure;
mod noise;
mod one_way;
mod pending;
mod random;
mod replay;
pub mod rtt;
mod transport;
mod unconfirmed;
mod variation;

pub use admission::{Admission, AdmissionLimits, Verdict};
pub use cookie::{COOKIE_LIFETIME, Cookie, CookieJar, CookieSecret, MAX_USED_CHALLENGES};
pub use engine::{
    CloseReason, Control, ControlCounters, ControlPathId, Destination, Event, Limits, MAX_HANDED,
    MAX_HANDED_PER_PEER, PART_BURST, PARTS_PER_SECOND, PathEvent, PathView, Peer, REQUEST_BURST,
    REQUESTS_PER_SECOND, RequestFailed, RequestRefused, SessionConfig, SessionId, SessionView,
    TestConfig, TestRefused, TestView, Transmit,
};
pub use handshake::{
    Fingerprint, HandshakeError, Incoming, Initiation, Received, Response, receive,
};
pub use key::{KEY_LEN, KEY_TEXT_LEN, KeyError, PresharedKey, PrivateKey, PublicKey};
pub use one_way::OneWay;
pub use pending::{MAX_PENDING, Pending};
pub use random::Random;
pub use replay::{ReplayWindow, WINDOW as REPLAY_WINDOW};
pub use transport::{Exhausted, MAX_PATHS, OpenError, Opened, Transport};
pub use unconfirmed::{Decision, MAX_CHALLENGED, decide};
