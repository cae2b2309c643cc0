//! The messages inside a sealed frame of the control protocol, one behind the other.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Type      |         Length of the body    |     Body      ~
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//!  0 Pad        anything
//!  1 Probe      token u64
//!  2 Echo       token u64
//!  3 Report     n x { path id u16, frames u32, sent u64, received u64 }
//!  4 Paths      generation u32, epoch u32, from u32,
//!               n x { path id u16, weight u16, wish u16, state u8, economy u8 }
//!  5 PathsAck   generation u32
//!  6 Request    id u32, offset u32, body
//!  7 Result     id u32, offset u32, total u32, chunk
//!  8 Goodbye    reason u8
//!  9 Clock      id u32, time u32
//! 10 Departed   interval u16 (ms), n x { number u32, time u32, waited u16 (0.1 ms) }
//! 11 SentUpTo   n x { path id u16, last u32, packets u32 }
//! 12 Arrived    time u32, n x { path id u16, number u32, time u32 }
//! 13 Received   n x { path id u16, packets u32, bytes u32, highest u32, marked u32,
//!                      settled u32, settled packets u32 }
//! 14 Missing    n x { first u32, count u16 }
//! 15 Kept       from u32, loss u16
//! 16 Survey     probes u16
//! 17 Refused    n x { first u32, count u16 }
//! 18 Symbol     first u32, counts u8, n x { offset u16 }, parity
//! 19 Came       token u64, time u32
//! 20 MissingMap first u32, bits
//! ```
//!
//! A frame ends with its last message. Types that are not known are skipped, so that a later
//! version may add some.

use std::fmt;
use std::marker::PhantomData;

use super::entry::Entry;
use super::feedback::{ArrivedEntry, MissingEntry, ReceivedEntry, SentEntry, Stamp};
use super::frame::MAX_PAYLOAD_LEN;
use super::missing_map::MissingMap;
use super::symbol::{self, Symbol};
use crate::bytes::{u8_at, u16_at, u32_at, u64_at};

/// Length of the header before the body of every message: type and length.
pub const MESSAGE_HEADER_LEN: usize = 3;
/// The longest body of a message.
pub const MAX_MESSAGE_LEN: usize = MAX_PAYLOAD_LEN - MESSAGE_HEADER_LEN;
/// The longest body of a request. With everything around it, it fits into one frame.
pub const MAX_REQUEST_LEN: usize = 1024;
/// The longest piece of a result. With everything around it, it fits into one frame.
pub const MAX_CHUNK_LEN: usize = 1024;
/// The longest result, all of its pieces together: what a requester has to keep.
pub const MAX_RESULT_LEN: u32 = 1 << 20;
/// The most paths of a session, thus entries of one Paths message. They fit into one frame.
pub const MAX_PATHS: usize = 128;

pub(super) const PATHS_HEADER_LEN: usize = 12;
const DEPARTED_HEADER_LEN: usize = 2;
const ARRIVED_HEADER_LEN: usize = 4;
const REQUEST_HEADER_LEN: usize = 8;
const RESULT_HEADER_LEN: usize = 12;

const _: () = {
    assert!(MESSAGE_HEADER_LEN + REQUEST_HEADER_LEN + MAX_REQUEST_LEN <= MAX_PAYLOAD_LEN);
    assert!(MESSAGE_HEADER_LEN + RESULT_HEADER_LEN + MAX_CHUNK_LEN <= MAX_PAYLOAD_LEN);
    assert!(MESSAGE_HEADER_LEN + PATHS_HEADER_LEN + MAX_PATHS * PathEntry::LEN <= MAX_PAYLOAD_LEN);
};

/// The types of messages.
pub(super) mod kind {
    pub(in super::super) const PAD: u8 = 0;
    pub(in super::super) const PROBE: u8 = 1;
    pub(in super::super) const ECHO: u8 = 2;
    pub(in super::super) const REPORT: u8 = 3;
    pub(in super::super) const PATHS: u8 = 4;
    pub(in super::super) const PATHS_ACK: u8 = 5;
    pub(in super::super) const REQUEST: u8 = 6;
    pub(in super::super) const RESULT: u8 = 7;
    pub(in super::super) const GOODBYE: u8 = 8;
    pub(in super::super) const CLOCK: u8 = 9;
    pub(in super::super) const DEPARTED: u8 = 10;
    pub(in super::super) const SENT_UP_TO: u8 = 11;
    pub(in super::super) const ARRIVED: u8 = 12;
    pub(in super::super) const RECEIVED: u8 = 13;
    pub(in super::super) const MISSING: u8 = 14;
    pub(in super::super) const KEPT: u8 = 15;
    pub(in super::super) const SURVEY: u8 = 16;
    pub(in super::super) const REFUSED: u8 = 17;
    pub(in super::super) const SYMBOL: u8 = 18;
    pub(in super::super) const CAME: u8 = 19;
    pub(in super::super) const MISSING_MAP: u8 = 20;
}

/// Why the bytes of a frame are not messages. They were authenticated: the peer is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Error {
    /// The frame ends within a message.
    #[error("the frame ends within a message")]
    Truncated,
    /// A body of a length that its type cannot have.
    #[error("message of a length that its type cannot have")]
    Length,
    /// A field with a value that it cannot have.
    #[error("field of a message with a value that it cannot have")]
    Value,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Makes a frame longer, nothing else.
    Pad {
        /// The length of the body.
        len: u16,
    },
    /// Asks for an [`Echo`](Message::Echo) over the same path.
    Probe {
        /// To be repeated in the echo; unguessable.
        token: u64,
    },
    /// Answers a [`Probe`](Message::Probe).
    Echo {
        /// The token of the probe.
        token: u64,
    },
    /// Counters of the packets that the sender received and sent on some of the paths.
    Report(Entries<'a, ReportEntry>),
    /// All paths of the sender, and what it does with them.
    Paths {
        /// Grows with every change; to be acknowledged.
        generation: u32,
        /// Random for each life of the sender's GRE sequence numbers. When it changes, the receiver
        /// starts its reordering anew.
        epoch: u32,
        /// The sender's GRE sequence number from which this holds.
        from: u32,
        /// The paths.
        entries: Entries<'a, PathEntry>,
    },
    /// Acknowledges [`Paths`](Message::Paths).
    PathsAck {
        /// The generation that arrived.
        generation: u32,
    },
    /// Asks for a piece of the result of a request, which is run when it arrives for the first
    /// time.
    Request {
        /// Counts the requests of a session in this direction.
        id: u32,
        /// The offset of the wanted piece in the result, at most [`MAX_RESULT_LEN`].
        offset: u32,
        /// The request, always whole: at most [`MAX_REQUEST_LEN`] bytes.
        body: &'a [u8],
    },
    /// A piece of the result of a request.
    Result {
        /// The id of the request.
        id: u32,
        /// The offset of the piece in the result.
        offset: u32,
        /// The length of the whole result: at most [`MAX_RESULT_LEN`].
        total: u32,
        /// The piece: at most [`MAX_CHUNK_LEN`] bytes, and not longer than the result.
        chunk: &'a [u8],
    },
    /// The sender has forgotten this session.
    Goodbye {
        /// The reason.
        reason: Reason,
    },
    /// The time at which the sender sent this frame. The clocks of the two ends have nothing to do with each
    /// other, but the same two stamp and receive the frames of all paths: by the differences the
    /// receiver sees by how much a path is longer than another.
    Clock {
        /// Random for each life of the sender's clock: times of different ones cannot be compared.
        id: u32,
        /// Microseconds since any moment; begins again at 0 behind 2^32 - 1.
        time: u32,
    },
    /// The times at which data packets of the sender left, by the clock of the frame's [`Clock`](Message::Clock)
    /// message. It asks for [`Received`](Message::Received) and [`Arrived`](Message::Arrived) at the
    /// given interval for as long as data comes.
    Departed {
        /// Time between two reports, in milliseconds.
        interval: u16,
        /// Some of the packets, mostly the first ones of batches.
        stamps: Entries<'a, Stamp>,
    },
    /// The last numbers that the sender has given to its paths: a path with nothing beyond `last` brings nothing more.
    SentUpTo(Entries<'a, SentEntry>),
    /// The times at which data packets of the peer arrived, by the clock of the frame's [`Clock`](Message::Clock)
    /// message.
    Arrived {
        /// Time of the report.
        time: u32,
        /// Some of the packets.
        entries: Entries<'a, ArrivedEntry>,
    },
    /// Counters of the packets that have come on some of the paths.
    Received(Entries<'a, ReceivedEntry>),
    /// Data packets of the peer that have not come, although later ones have, or the peer has said that
    /// it sent them. It asks the peer to send again those that it holds for lost.
    Missing(Entries<'a, MissingEntry>),
    /// The sender keeps the data packets that it has sent, and sends again what is lost.
    Kept {
        /// The sequence number of the oldest packet that it still has: to ask for earlier ones is vain.
        from: u32,
        /// The share of packets that the worst path in use has lost of late, in 65,535ths, rounded up; 0 where
        /// none is known to have lost any.
        loss: u16,
    },
    /// Answers [`Missing`](Message::Missing): these data packets are lost, and will not be sent again.
    Refused(Entries<'a, MissingEntry>),
    /// Restores data packets that are lost (section 16.4 of the protocol).
    Symbol(Symbol<'a>),
    /// Behind a [`Probe`](Message::Probe): asks whether that many more may follow in quick succession. Behind an
    /// [`Echo`](Message::Echo): they may.
    Survey {
        /// The number of them.
        probes: u16,
    },
    /// Behind an [`Echo`](Message::Echo): the time at which a probe of a train arrived. By the times of
    /// several that left back to back the peer sees what the path carries.
    Came {
        /// The token of the probe.
        token: u64,
        /// Microseconds of the clock of [`Clock`](Message::Clock); begins again at 0 behind 2^32 - 1.
        time: u32,
    },
    /// Continues a [`Missing`](Message::Missing) that has no room for all missing numbers, and stands behind it.
    MissingMap(MissingMap<'a>),
}

/// One path in a [`Report`](Message::Report), as the sender of the report saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReportEntry {
    /// The path.
    pub path_id: u16,
    /// Authenticated control frames received on it, the low 32 bits of their number.
    pub frames: u32,
    /// Data packets sent on it. For statistics, never for liveness.
    pub sent: u64,
    /// Data packets received on it. For statistics, never for liveness.
    pub received: u64,
}

/// One path in [`Paths`](Message::Paths), as the sender of the message uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathEntry {
    /// The path.
    pub path_id: u16,
    /// The weight with which the sender sends on it; 0: it carries none of the sender's data.
    pub weight: u16,
    /// The weight that the sender would like the other end to use; 0: no wish.
    pub wish: u16,
    /// State of the path at the sender.
    pub state: PathState,
    /// Economy that the sender asks for.
    pub economy: Economy,
}

/// The economy with which a path is to be used, as bits. Bits without a name are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Economy(pub u8);

impl Economy {
    /// The path is used without restraint.
    pub const NONE: Economy = Economy(0);
    /// The path is to carry data only while no other path works.
    pub const LAST_RESORT: Economy = Economy(1);
    /// Traffic on the path is paid for, so it is to be probed less often.
    pub const METERED: Economy = Economy(2);

    /// Returns whether all bits of `other` are set.
    pub const fn contains(self, other: Economy) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the bits of both.
    #[must_use]
    pub const fn with(self, other: Economy) -> Economy {
        Economy(self.0 | other.0)
    }
}

/// The state of a path at one end. Values without a name mean nothing to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathState(pub u8);

impl PathState {
    /// It works.
    pub const USABLE: PathState = PathState(0);
    /// The administrator took it down.
    pub const ADMINISTRATIVELY_DOWN: PathState = PathState(1);
    /// Its interface is down or has no address.
    pub const INTERFACE_DOWN: PathState = PathState(2);
    /// The sender holds its own sending direction for dead.
    pub const DEAD: PathState = PathState(3);
    /// It is not proven yet.
    pub const PROBING: PathState = PathState(4);

    /// True if it asks the other end not to send there.
    pub const fn is_down(self) -> bool {
        matches!(self, PathState::ADMINISTRATIVELY_DOWN | PathState::INTERFACE_DOWN)
    }
}

/// Why an end says goodbye. Values without a name are goodbyes all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reason(pub u8);

impl Reason {
    /// The daemon ends.
    pub const SHUTTING_DOWN: Reason = Reason(0);
    /// The connection is gone.
    pub const CONNECTION_REMOVED: Reason = Reason(1);
    /// The session is not wanted.
    pub const REFUSED: Reason = Reason(2);
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Reason::SHUTTING_DOWN => f.write_str("shutting down"),
            Reason::CONNECTION_REMOVED => f.write_str("connection removed"),
            Reason::REFUSED => f.write_str("refused"),
            Reason(other) => write!(f, "unknown reason {other}"),
        }
    }
}

impl Entry for ReportEntry {
    const LEN: usize = 22;

    fn decode(bytes: &[u8]) -> Self {
        Self {
            path_id: u16_at(bytes, 0),
            frames: u32_at(bytes, 2),
            sent: u64_at(bytes, 6),
            received: u64_at(bytes, 14),
        }
    }

    fn encode(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.path_id.to_be_bytes());
        buffer.extend_from_slice(&self.frames.to_be_bytes());
        buffer.extend_from_slice(&self.sent.to_be_bytes());
        buffer.extend_from_slice(&self.received.to_be_bytes());
    }
}

impl Entry for PathEntry {
    const LEN: usize = 8;

    fn decode(bytes: &[u8]) -> Self {
        Self {
            path_id: u16_at(bytes, 0),
            weight: u16_at(bytes, 2),
            wish: u16_at(bytes, 4),
            state: PathState(u8_at(bytes, 6)),
            economy: Economy(u8_at(bytes, 7)),
        }
    }

    fn encode(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.path_id.to_be_bytes());
        buffer.extend_from_slice(&self.weight.to_be_bytes());
        buffer.extend_from_slice(&self.wish.to_be_bytes());
        buffer.extend_from_slice(&[self.state.0, self.economy.0]);
    }
}

/// The entries of a received message: read from its bytes as they are asked for.
#[derive(Clone, Copy)]
pub struct Entries<'a, E> {
    /// The bytes of whole entries.
    bytes: &'a [u8],
    entry: PhantomData<E>,
}

impl<'a, E: Entry> Entries<'a, E> {
    fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        if !bytes.len().is_multiple_of(E::LEN) {
            return Err(Error::Length);
        }
        Ok(Self { bytes, entry: PhantomData })
    }

    /// Returns how many.
    pub fn len(&self) -> usize {
        self.bytes.len() / E::LEN
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// All of them, in the order of the message.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = E> + use<'a, E> {
        self.bytes.chunks_exact(E::LEN).map(E::decode)
    }
}

/// By meaning: what is ignored on receipt makes no difference.
impl<E: Entry + PartialEq> PartialEq for Entries<'_, E> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<E: Entry + Eq> Eq for Entries<'_, E> {}

impl<E: Entry + fmt::Debug> fmt::Debug for Entries<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The messages of an opened frame.
pub fn messages(payload: &[u8]) -> Messages<'_> {
    Messages { rest: payload }
}

/// Iterates over the messages of a frame; ends with the frame, or with the first error.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    fn take(&mut self) -> Result<Option<Message<'a>>, Error> {
        while !self.rest.is_empty() {
            let &[kind, high, low, ref rest @ ..] = self.rest else { return Err(Error::Truncated) };
            let len = u16::from_be_bytes([high, low]);
            let (body, rest) = rest.split_at_checked(usize::from(len)).ok_or(Error::Truncated)?;
            self.rest = rest;
            if let Some(message) = Message::parse(kind, body)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let message = self.take();
        if message.is_err() {
            self.rest = &[];
        }
        message.transpose()
    }
}

impl std::iter::FusedIterator for Messages<'_> {}

impl<'a> Message<'a> {
    /// A message, or nothing if its type is not known.
    fn parse(kind: u8, body: &'a [u8]) -> Result<Option<Self>, Error> {
        Ok(Some(match kind {
            kind::PAD => Message::Pad { len: u16::try_from(body.len()).map_err(|_| Error::Value)? },
            kind::PROBE => Message::Probe { token: u64::from_be_bytes(exactly(body)?) },
            kind::ECHO => Message::Echo { token: u64::from_be_bytes(exactly(body)?) },
            kind::REPORT => Message::Report(Entries::new(body)?),
            kind::PATHS => {
                let (header, entries) =
                    split::<PATHS_HEADER_LEN>(body, MAX_PATHS * PathEntry::LEN)?;
                Message::Paths {
                    generation: u32_at(header, 0),
                    epoch: u32_at(header, 4),
                    from: u32_at(header, 8),
                    entries: Entries::new(entries)?,
                }
            }
            kind::PATHS_ACK => Message::PathsAck { generation: u32::from_be_bytes(exactly(body)?) },
            kind::REQUEST => {
                let (header, body) = split::<REQUEST_HEADER_LEN>(body, MAX_REQUEST_LEN)?;
                let (id, offset) = (u32_at(header, 0), u32_at(header, 4));
                if offset > MAX_RESULT_LEN {
                    return Err(Error::Value);
                }
                Message::Request { id, offset, body }
            }
            kind::RESULT => {
                let (header, chunk) = split::<RESULT_HEADER_LEN>(body, MAX_CHUNK_LEN)?;
                let (id, offset, total) = (u32_at(header, 0), u32_at(header, 4), u32_at(header, 8));
                let len = u32::try_from(chunk.len()).ok();
                let end = len.and_then(|len| offset.checked_add(len));
                if total > MAX_RESULT_LEN || end.is_none_or(|end| end > total) {
                    return Err(Error::Value);
                }
                Message::Result { id, offset, total, chunk }
            }
            kind::GOODBYE => {
                let [reason] = exactly(body)?;
                Message::Goodbye { reason: Reason(reason) }
            }
            kind::CLOCK => {
                let (body, _) = split::<8>(body, 0)?;
                Message::Clock { id: u32_at(body, 0), time: u32_at(body, 4) }
            }
            kind::DEPARTED => {
                let (header, stamps) = split::<DEPARTED_HEADER_LEN>(body, MAX_PAYLOAD_LEN)?;
                Message::Departed { interval: u16_at(header, 0), stamps: Entries::new(stamps)? }
            }
            kind::SENT_UP_TO => Message::SentUpTo(Entries::new(body)?),
            kind::ARRIVED => {
                let (header, entries) = split::<ARRIVED_HEADER_LEN>(body, MAX_PAYLOAD_LEN)?;
                Message::Arrived { time: u32_at(header, 0), entries: Entries::new(entries)? }
            }
            kind::RECEIVED => Message::Received(Entries::new(body)?),
            kind::MISSING => Message::Missing(Entries::new(body)?),
            kind::KEPT => {
                let body: [u8; 6] = exactly(body)?;
                Message::Kept { from: u32_at(&body, 0), loss: u16_at(&body, 4) }
            }
            kind::REFUSED => Message::Refused(Entries::new(body)?),
            kind::SYMBOL => Message::Symbol(Symbol::parse(body).map_err(|error| match error {
                symbol::Malformed::Length => Error::Length,
                symbol::Malformed::Counts => Error::Value,
            })?),
            kind::SURVEY => Message::Survey { probes: u16::from_be_bytes(exactly(body)?) },
            kind::CAME => {
                let body: [u8; 12] = exactly(body)?;
                Message::Came { token: u64_at(&body, 0), time: u32_at(&body, 8) }
            }
            kind::MISSING_MAP => Message::MissingMap(MissingMap::parse(body).ok_or(Error::Length)?),
            _ => return Ok(None),
        }))
    }
}

fn exactly<const N: usize>(body: &[u8]) -> Result<[u8; N], Error> {
    body.try_into().map_err(|_| Error::Length)
}

/// A body that starts with `N` bytes and goes on with at most `max`.
fn split<const N: usize>(body: &[u8], max: usize) -> Result<(&[u8; N], &[u8]), Error> {
    let (header, rest) = body.split_first_chunk().ok_or(Error::Length)?;
    if rest.len() > max { Err(Error::Length) } else { Ok((header, rest)) }
}

#[cfg(test)]
mod tests;
