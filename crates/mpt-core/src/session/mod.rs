//! Authenticated sessions between two ends, and what they tell each other about their paths
//! (docs/protocol.md, part 2).
//!
//! [`Sessions`] holds all of one daemon. It is made of the `handshake` that two ends begin with, the
//! `keys` they have then, the [`requests`] they make, the tables of paths they [`announce`], what
//! they find out about [`delay`]s, and how fast a path is ([`speed`]).
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)
)]

pub mod announce;
pub(crate) mod bucket;
pub mod delay;
mod engine;
mod handshake;
mod join_token;
pub(crate) mod keys;
pub mod requests;
mod shard;
pub mod speed;

pub use delay::OneWay;
pub(crate) use delay::Unloaded;
pub(crate) use delay::rtt::Estimate as RttEstimate;
#[cfg(test)]
pub(crate) use delay::rtt::Rtt;
pub use engine::{
    CloseReason, Destination, Event, Limits, MAX_HANDED, MAX_HANDED_PER_PEER, MAX_JOINING,
    PART_BURST, PARTS_PER_SECOND, PathEvent, PathView, Peer, REQUEST_BURST, REQUESTS_PER_SECOND,
    RequestFailed, RequestRefused, SealState, SessionConfig, SessionCounters, SessionId,
    SessionPathId, SessionView, Sessions, TestConfig, TestRefused, TestView, Transmit,
};
pub use handshake::{
    Admission, AdmissionLimits, COOKIE_LIFETIME, Cookie, CookieJar, CookieSecret, Decision,
    Fingerprint, HandshakeError, Incoming, Initiation, MAX_CHALLENGED, MAX_PENDING,
    MAX_USED_CHALLENGES, Pending, Received, Response, Verdict, decide, receive,
};
pub use join_token::{JOIN_SECRET_LEN, JoinToken};
pub use keys::{
    Exhausted, KEY_LEN, KEY_TEXT_LEN, KeyError, MAX_PATHS, OpenError, Opened, PresharedKey,
    PrivateKey, PublicKey, REPLAY_WINDOW, Random, ReplayWindow, Transport,
};
pub use shard::{SHARD_BITS, Shard};
