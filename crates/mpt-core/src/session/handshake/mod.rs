//! The handshake that two ends begin a session with: its messages, and who may have one answered.

mod admission;
mod cipher;
mod cookie;
mod exchange;
mod mac;
mod noise;
mod pending;
pub(in crate::session) mod unconfirmed;

pub use self::admission::{Admission, AdmissionLimits, Verdict};
pub use self::cookie::{COOKIE_LIFETIME, Cookie, CookieJar, CookieSecret, MAX_USED_CHALLENGES};
pub use self::exchange::{
    Fingerprint, HandshakeError, Incoming, Initiation, Received, Response, receive,
};
pub use self::pending::{MAX_PENDING, Pending};
pub use self::unconfirmed::{Decision, MAX_CHALLENGED, decide};
