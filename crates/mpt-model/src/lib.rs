//! An explicit-state model of the handshake of the control protocol (docs/protocol.md, sections 11,
//! 12 and 18): admission of initiations, unconfirmed keys and their eviction, cookies and
//! challenges, rekeying, and addresses that are followed.
//!
//! The model has one initiator, one responder and one attacker. The rule that admits initiations is
//! not a copy: the model calls [`mpt_core::session::decide`], as the responder does. Everything else
//! is written anew from the document, with numbers in place of keys and times.
//!
//! The **attacker** hears every message, and has recorded initiations of the past. It delivers what
//! it has heard in any order and as often as [`Bounds::replays`] allows, from its own address, where
//! it receives, or from an address that it forges. It drops as many messages as [`Bounds::drops`]
//! allows. Messages that it leaves alone arrive in any order. It cannot open or make sealed frames
//! and the Hello of others: cryptography is taken to be perfect.
//!
//! The **bounds** are those of [`Bounds`]: messages replayed and dropped, handshakes begun for
//! rekeying, restarts of the responder, erasures of unconfirmed keys, changes of the initiator's
//! address, initiations and answers. Within them the checker visits every reachable state. It shows
//! nothing about longer runs, about several clients of one responder, or about time: a timer is a
//! step that may be taken at any moment.
//!
//! The **properties** are those of [`Handshake::properties`](stateright::Model::properties), and that the session stands again from every state
//! ([`Handshake::states_and_stuck_ones`]).
//! [`Rules`] names variants of the responder with rules of the past or with a rule left out, for
//! which a test expects the checker to find a counterexample.
#![forbid(unsafe_code)]

mod address;
mod initiator;
mod message;
mod model;
mod recovery;
mod responder;
pub mod symbolic;

pub use address::Address;
pub use message::{Initiation, Message};
pub use model::{Action, Bounds, Handshake, State};
pub use responder::Rules;
