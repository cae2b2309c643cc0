//! Frames of the control protocol and the messages in them (docs/protocol.md, part 2).
//!
//! A frame is the payload of a GRE packet of protocol type
//! [`CONTROL`](crate::gre::Protocol::CONTROL): [`frame`]. The sealed part of a handshake, a
//! [`Hello`] or a [`Welcome`], is in [`hello`]; that of an established session, a row of messages,
//! in [`message`]. Nothing here knows a key: bytes that were sealed come in opened.

mod entry;
pub mod feedback;
pub mod frame;
pub mod hello;
pub mod message;
mod missing_map;
pub mod sealing;
mod symbol;
mod writer;

pub use entry::Entry;
pub use feedback::{ArrivedEntry, MissingEntry, ReceivedEntry, SentEntry, Stamp};
pub use frame::{Cookie, Frame, Initiation, Response, Sealed, SealedHeader};
pub use hello::{Capabilities, Capability, Challenge, Hello, Kind, Name, Welcome};
pub use message::{
    Economy, Entries, MAX_MESSAGE_LEN, Message, Messages, PathEntry, PathState, Reason,
    ReportEntry, messages,
};
pub use missing_map::{MAX_MAP_LEN, MissingMap};
pub use sealing::{SEALING_LEN, Sealing, Suite, Suites};
pub use symbol::{MAX_GROUP, Offsets, Symbol};
pub use writer::{Full, Writer};
