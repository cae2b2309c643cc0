//! The keys of a session, from one handshake to the next: sealing and opening frames.

use std::fmt;

use mpt_wire::control::frame::{self, SEALED_HEADER_LEN, SealedHeader, TAG_LEN};
use mpt_wire::control::frame::{COUNTER_END, MAX_PROBE_PAYLOAD_LEN};
use smallvec::SmallVec;
use snow::StatelessTransportState;
use zeroize::zeroize_stack;

use super::replay::ReplayWindow;
use crate::seal::keys::{Agreement, Keys, Split};
use crate::session::keys::erase::STACK;

/// Maximum number of path ids under one pair of keys, per direction. It bounds the memory that a peer can make us spend, and Paths messages have room
/// for as many.
pub const MAX_PATHS: usize = 128;

/// The counters end one before their 48 bits do: path id 65535 with the last of them would be the
/// nonce that Noise reserves (section 5.1 of its specification).
const COUNTER_LIMIT: u64 = COUNTER_END - 1;

/// The keys of one handshake, one per direction, with what must not be repeated under them.
///
/// Every path id has its own counter for sending and its own replay window for receiving; both
/// exist from its first use on, which for receiving means the first authentic frame. That takes 16
/// and 144 bytes: with two paths 0.6 KB all in all, with 128 in both directions 21 KB.
///
/// Sealing and opening a frame of 200 bytes take 0.35 us each (`benches/control.rs`, on one core of
/// an AMD EPYC), and no allocation once a path has been used.
pub struct Transport {
    keys: StatelessTransportState,
    /// Until it was asked for: keys of sealed data are made once.
    split: Option<Split>,
    local_index: u32,
    remote_index: u32,
    send: SmallVec<[SendPath; 2]>,
    /// In the order of their ids.
    receive: Vec<ReceivePath>,
}

impl Drop for Transport {
    fn drop(&mut self) {
        // Every frame that was sealed or opened has left a copy of its key there, until something else came to lie over it.
        zeroize_stack::<STACK>();
    }
}

struct SendPath {
    id: u16,
    /// The counter of the next frame.
    next: u64,
}

struct ReceivePath {
    id: u16,
    window: ReplayWindow,
}

/// The reason for which these keys can seal no such frame. Nothing was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// The counter of the path is at its end. New keys begin anew.
    #[error("the counter of the path is exhausted")]
    Counter,
    /// [`MAX_PATHS`] other paths were used.
    #[error("more than {MAX_PATHS} paths")]
    Paths,
    /// The payload is longer than [`MAX_PROBE_PAYLOAD_LEN`].
    #[error("the payload is longer than {MAX_PROBE_PAYLOAD_LEN} bytes")]
    Length,
}

/// The reason for which a frame was not opened. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// It is for other keys.
    #[error("the frame is for other keys")]
    Index,
    /// A frame with its path id and counter has been opened, or might have: it is too old to tell.
    /// Whether this one is authentic was not looked at.
    #[error("the frame is a repetition, or too old to tell")]
    Replayed,
    /// It was not sealed by the peer with the same keys, or was changed on the way.
    #[error("the frame is not authentic")]
    Unauthentic,
    /// It is authentic, but [`MAX_PATHS`] other paths were used.
    #[error("more than {MAX_PATHS} paths")]
    TooManyPaths,
    /// The buffer is shorter than the payload; [`MAX_PROBE_PAYLOAD_LEN`] is enough for all.
    #[error("no room for the payload")]
    Room,
}

/// An authentic frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// The path that the peer sent it on.
    pub path: u16,
    /// No later frame of that path has been opened: it says where the path's other end is now.
    pub fresh: bool,
    /// The messages.
    pub payload: &'a [u8],
}

impl Transport {
    pub(in crate::session) fn new(
        keys: StatelessTransportState,
        split: Split,
        local_index: u32,
        remote_index: u32,
    ) -> Self {
        let (send, receive) = (SmallVec::new(), Vec::new());
        Self { keys, split: Some(split), local_index, remote_index, send, receive }
    }

    /// Takes the keys of sealed data, if both ends have agreed on it. There are none a second time.
    pub(crate) fn take_data_keys(&mut self, agreement: Option<&Agreement>) -> Option<Keys> {
        let split = self.split.take()?;
        split.keys(agreement?, self.is_initiator())
    }

    /// Returns what the keys of sealed data are made of.
    #[cfg(test)]
    pub(crate) fn data_split(&self) -> Option<&Split> {
        self.split.as_ref()
    }

    /// Returns what stands in front of the frames for us.
    #[must_use]
    pub fn local_index(&self) -> u32 {
        self.local_index
    }

    /// Returns what stands in front of the frames for the peer.
    #[must_use]
    pub fn remote_index(&self) -> u32 {
        self.remote_index
    }

    /// Returns true if this end began the handshake that made the keys.
    #[must_use]
    pub fn is_initiator(&self) -> bool {
        self.keys.is_initiator()
    }

    /// Makes `frame` a frame for `path` with `payload`, whatever it was before. It grows to at
    /// most 1200 bytes, and in a probe of the path MTU to at most 9184.
    ///
    /// # Errors
    ///
    /// [`Exhausted`]; `frame` is empty then.
    pub fn seal(
        &mut self,
        path: u16,
        payload: &[u8],
        frame: &mut Vec<u8>,
    ) -> Result<(), Exhausted> {
        frame.clear();
        if payload.len() > MAX_PROBE_PAYLOAD_LEN {
            return Err(Exhausted::Length);
        }
        let counter = self.next_counter(path)?;
        let header = SealedHeader { receiver_index: self.remote_index, path_id: path, counter };
        frame.extend_from_slice(&header.emit());
        frame.resize(SEALED_HEADER_LEN + payload.len() + TAG_LEN, 0);
        let room = frame.get_mut(SEALED_HEADER_LEN..).unwrap_or_default();
        let written = self.keys.write_message(header.nonce(), payload, room);
        // Room and nonce are right, there is no other reason to refuse.
        written.map(|_| ()).map_err(|_| {
            frame.clear();
            Exhausted::Counter
        })
    }

    /// A counter of `path` that was never given before.
    fn next_counter(&mut self, path: u16) -> Result<u64, Exhausted> {
        if let Some(path) = self.send.iter_mut().find(|used| used.id == path) {
            if path.next >= COUNTER_LIMIT {
                return Err(Exhausted::Counter);
            }
            path.next += 1;
            return Ok(path.next - 1);
        }
        if self.send.len() == MAX_PATHS {
            return Err(Exhausted::Paths);
        }
        self.send.reserve_exact(1);
        self.send.push(SendPath { id: path, next: 1 });
        Ok(0)
    }

    /// Opens a frame of the peer into `out`, once.
    ///
    /// # Errors
    ///
    /// [`OpenError`]. The content of `out` then has no meaning.
    pub fn open<'a>(
        &mut self,
        frame: &frame::Sealed<'_>,
        out: &'a mut [u8],
    ) -> Result<Opened<'a>, OpenError> {
        let SealedHeader { receiver_index, path_id, counter } = frame.header();
        if receiver_index != self.local_index {
            return Err(OpenError::Index);
        }
        let place = self.receive.binary_search_by_key(&path_id, |path| path.id);
        let known = place.ok().and_then(|at| self.receive.get(at));
        if known.is_some_and(|path| !path.window.is_new(counter)) {
            return Err(OpenError::Replayed);
        }
        let ciphertext = frame.ciphertext();
        let len = ciphertext.len().saturating_sub(TAG_LEN);
        let out = out.get_mut(..len).ok_or(OpenError::Room)?;
        self.keys
            .read_message(frame.header().nonce(), ciphertext, out)
            .map_err(|_| OpenError::Unauthentic)?;
        let at = match place {
            Ok(at) => at,
            Err(_) if self.receive.len() == MAX_PATHS => return Err(OpenError::TooManyPaths),
            Err(at) => {
                // Most sessions never have more paths than at their beginning.
                self.receive.reserve_exact(1);
                self.receive.insert(at, ReceivePath { id: path_id, window: ReplayWindow::new() });
                at
            }
        };
        let fresh = self.receive.get_mut(at).is_some_and(|path| path.window.insert(counter));
        Ok(Opened { path: path_id, fresh, payload: out })
    }
}

/// Shows no keys.
impl fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Transport")
            .field("local_index", &self.local_index)
            .field("remote_index", &self.remote_index)
            .field("initiator", &self.is_initiator())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use mpt_wire::control::frame::Frame;
    use mpt_wire::control::{Capabilities, Hello, Kind, Name, Welcome};

    use super::*;
    use crate::session::{Initiation, PrivateKey, Random, receive};

    fn session() -> (Transport, Transport) {
        let mut random = Random::new([1; 32]);
        let (client, server) = (PrivateKey::from_seed([1; 32]), PrivateKey::from_seed([2; 32]));
        let (capabilities, name) = (Capabilities::new(), Name::default());
        let hello = Hello {
            kind: Kind::Connection,
            key: None,
            capabilities,
            name,
            challenge: None,
            sealing: None,
        };
        let mut initiation =
            Initiation::new(&client, &server.public(), None, 1, &hello, &mut random).unwrap();
        let frame = initiation.frame(1, None);
        let received = receive(&server, frame::Initiation::of(&frame), &mut random).unwrap();
        let (response, server) = received.respond(None, 2, &Welcome::default()).unwrap();
        let frame = response.frame(1);
        (initiation.finish(&frame::Response::of(&frame)).unwrap().0, server)
    }

    fn open(transport: &mut Transport, frame: &[u8]) -> Result<(u16, bool), OpenError> {
        let Ok(Frame::Sealed(frame)) = frame::parse(frame) else { panic!("a sealed frame") };
        let mut out = [0; MAX_PROBE_PAYLOAD_LEN];
        transport.open(&frame, &mut out).map(|opened| (opened.path, opened.fresh))
    }

    #[test]
    fn a_counter_ends_before_it_would_repeat() {
        let (mut client, mut server) = session();
        let mut frame = Vec::new();
        for path in [1, u16::MAX] {
            client.send.push(SendPath { id: path, next: COUNTER_LIMIT - 2 });
            for _ in 0..2 {
                client.seal(path, b"among the last", &mut frame).unwrap();
                assert_eq!(open(&mut server, &frame), Ok((path, true)));
            }
            for _ in 0..3 {
                assert_eq!(client.seal(path, b"one more", &mut frame), Err(Exhausted::Counter));
                assert_eq!(frame, []);
            }
        }
        // Other paths go on.
        assert_eq!(client.seal(2, b"", &mut frame), Ok(()));
    }

    #[test]
    fn a_peer_that_uses_more_paths_than_it_may_gets_no_more_memory() {
        let (mut client, mut server) = session();
        let mut frame = Vec::new();
        for path in 0..1000 {
            // It does not keep to the limit itself; the path ids are new, so no nonce repeats.
            client.send.clear();
            client.seal(path, b"", &mut frame).unwrap();
            let expected = if path < 128 { Ok((path, true)) } else { Err(OpenError::TooManyPaths) };
            assert_eq!(open(&mut server, &frame), expected);
        }
        assert_eq!(server.receive.len(), MAX_PATHS);
    }

    #[test]
    fn the_nonce_that_noise_reserves_is_refused() {
        let (_, mut server) = session();
        let mut frame =
            SealedHeader { receiver_index: 2, path_id: u16::MAX, counter: COUNTER_LIMIT }
                .emit()
                .to_vec();
        frame.resize(60, 0);
        assert_eq!(open(&mut server, &frame), Err(OpenError::Unauthentic));
    }
}
