//! Two frames that make the keys of a session: an initiation and a response (docs/protocol.md,
//! part 2).
//!
//! A responder handles an initiation in these steps, cheapest first, so that a sender that has shown nothing causes no expensive work:
//!
//! 1. [`Incoming::verify`]: mac1, 0.6 us. Without it nobody is answered.
//! 2. [`Incoming::fingerprint`]: whether this is the copy, over another path, of an initiation that
//!    was answered already: [`Response::frame`] answers it again. 0.5 us.
//! 3. [`Admission::admit`](super::Admission::admit), and a cookie instead of an answer under load.
//! 4. [`Incoming::receive`]: the first Noise message, two multiplications on the curve, 110 us. Now
//!    the peer is known, and whether it is welcome.
//! 5. [`decide`](super::decide): a cookie with a challenge instead of an answer while unconfirmed keys
//!    are in the way.
//! 6. [`Received::respond`]: the second one, three more, 130 us.
//!
//! An initiator spends three on an initiation and two on the response, 250 us in all. (Times are
//! those of `benches/control.rs` on one core of an AMD EPYC.)

use std::fmt;

use mpt_wire::control::frame::{self, INITIATION_LEN, INITIATION_NOISE_LEN, MAC_LEN, RESPONSE_LEN};
use mpt_wire::control::frame::{COOKIE_LEN, RESPONSE_NOISE_LEN};
use mpt_wire::control::hello::{self, HELLO_LEN, Hello, WELCOME_LEN, Welcome};
use snow::error::Error as NoiseError;

use super::cookie::{self, Cookie};
use super::mac;
use super::noise::Noise;
use crate::session::keys::Random;
use crate::session::keys::Transport;
use crate::session::keys::{PresharedKey, PrivateKey, PublicKey};

const _: () = assert!(RESPONSE_LEN < INITIATION_LEN && COOKIE_LEN < INITIATION_LEN);

/// The reason for which a frame of a handshake came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// mac1 is wrong: the sender does not know our public key, or the frame is damaged.
    #[error("the frame is not made for our key")]
    Mac,
    /// It answers another initiation than this one.
    #[error("the frame answers another initiation")]
    Index,
    /// The Noise message or the cookie does not open: it was changed, is made with other keys or
    /// with another preshared key.
    #[error("the frame is not authentic, or the preshared keys differ")]
    Unauthentic,
    /// A public key is a point of small order, so a shared secret would be none.
    #[error("a public key in the handshake is invalid")]
    SmallOrder,
    /// The peer is authentic, but what it says about itself is wrong.
    #[error("the description that the peer gives of itself is invalid: {0}")]
    Payload(#[from] hello::Error),
    /// The Noise library refused for another reason: this handshake is over already.
    #[error("the handshake is over")]
    State,
}

impl From<NoiseError> for HandshakeError {
    fn from(error: NoiseError) -> Self {
        match error {
            NoiseError::Decrypt => Self::Unauthentic,
            NoiseError::Dh => Self::SmallOrder,
            _ => Self::State,
        }
    }
}

/// A handshake that this end began. It takes 2 KB.
pub struct Initiation {
    /// `None` as soon as a response was accepted.
    noise: Option<Noise>,
    identity: PublicKey,
    peer: PublicKey,
    index: u32,
    message: [u8; INITIATION_NOISE_LEN],
}

impl Initiation {
    /// Begins a handshake with `peer`, which will put `index` in front of all it sends to us.
    ///
    /// # Errors
    ///
    /// [`HandshakeError::SmallOrder`] if `peer` is no key that anybody could own.
    pub fn new(
        identity: &PrivateKey,
        peer: &PublicKey,
        psk: Option<&PresharedKey>,
        index: u32,
        hello: &Hello,
        random: &mut Random,
    ) -> Result<Self, HandshakeError> {
        let mut noise = Noise::initiator(identity, peer, psk, random)?;
        let mut message = [0; INITIATION_NOISE_LEN];
        noise.write(&hello.encode(), &mut message)?;
        let identity = identity.public();
        Ok(Self { noise: Some(noise), identity, peer: *peer, index, message })
    }

    /// The index that names this handshake in the answers.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Whom it is for.
    #[must_use]
    pub fn peer(&self) -> PublicKey {
        self.peer
    }

    /// The initiation as it is sent on the path `path_id`, with mac2 if there is a cookie for that
    /// path. It may be sent again and again: the responder does the work once.
    #[must_use]
    pub fn frame(&self, path_id: u16, cookie: Option<&Cookie>) -> [u8; INITIATION_LEN] {
        let mut frame = frame::Initiation::emit(path_id, self.index, &self.message);
        let mac1 = initiation_mac1(&self.peer, &frame::Initiation::of(&frame));
        frame::Initiation::set_mac1(&mut frame, &mac1);
        if let Some(cookie) = cookie {
            frame::Initiation::set_cookie_time(&mut frame, cookie.time());
            let mac2 = cookie.mac2(&frame::Initiation::of(&frame));
            frame::Initiation::set_mac2(&mut frame, &mac2);
        }
        frame
    }

    /// Opens the cookie that a responder sent instead of a response: for the next
    /// [`Initiation::frame`] on the same path, and for the Hello of the next initiation.
    ///
    /// # Errors
    ///
    /// [`HandshakeError::Index`] and [`HandshakeError::Unauthentic`]. Nothing has changed then.
    pub fn open_cookie(&self, frame: &frame::Cookie<'_>) -> Result<Cookie, HandshakeError> {
        if frame.receiver_index() != self.index {
            return Err(HandshakeError::Index);
        }
        let initiation = frame::Initiation::emit(frame.path_id(), self.index, &self.message);
        let mac1 = initiation_mac1(&self.peer, &frame::Initiation::of(&initiation));
        cookie::open(&self.peer, &mac1, frame).ok_or(HandshakeError::Unauthentic)
    }

    /// Takes the response: the keys of the session, and what the peer says about itself.
    ///
    /// # Errors
    ///
    /// Any [`HandshakeError`]; the handshake goes on then, except after
    /// [`HandshakeError::Payload`]: a forged response does not end it.
    pub fn finish(
        &mut self,
        frame: &frame::Response<'_>,
    ) -> Result<(Transport, Welcome), HandshakeError> {
        if frame.receiver_index() != self.index {
            return Err(HandshakeError::Index);
        }
        if !mac::equal(&response_mac1(&self.identity, frame), &frame.mac1()) {
            return Err(HandshakeError::Mac);
        }
        let noise = self.noise.as_mut().ok_or(HandshakeError::State)?;
        let mut payload = [0; WELCOME_LEN];
        noise.read(frame.noise(), &mut payload)?;
        let noise = self.noise.take().ok_or(HandshakeError::State)?;
        let welcome = Welcome::decode(&payload)?;
        let (keys, split) = noise.into_transport()?;
        Ok((Transport::new(keys, split, self.index, frame.sender_index()), welcome))
    }
}

/// Shows no key but public ones.
impl fmt::Debug for Initiation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Initiation")
            .field("peer", &self.peer)
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

/// An initiation whose mac1 is right, and nothing more: its sender knows our public key.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    frame: frame::Initiation<'a>,
}

/// The part that the copies of one initiation over several paths have in common, and no other initiation has: BLAKE2s-128 of sender index and Noise
/// message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; MAC_LEN]);

impl<'a> Incoming<'a> {
    /// Looks at mac1.
    ///
    /// # Errors
    ///
    /// [`HandshakeError::Mac`]: be silent then.
    pub fn verify(
        identity: &PrivateKey,
        frame: frame::Initiation<'a>,
    ) -> Result<Self, HandshakeError> {
        if mac::equal(&initiation_mac1(&identity.public(), &frame), &frame.mac1()) {
            Ok(Self { frame })
        } else {
            Err(HandshakeError::Mac)
        }
    }

    /// Returns the frame.
    #[must_use]
    pub fn frame(&self) -> frame::Initiation<'a> {
        self.frame
    }

    /// Tells copies of one initiation from others.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let index = self.frame.sender_index().to_be_bytes();
        // Any constant does for a key: what counts is that nobody finds two of one fingerprint.
        Fingerprint(mac::mac(&[0; MAC_LEN], &[&index, self.frame.noise()]))
    }

    /// Opens the Noise message: the peer that sent it. It may have been sent before and be a
    /// replay: only a frame under the new keys proves that the peer is there.
    ///
    /// # Errors
    ///
    /// Any [`HandshakeError`] but `Mac` and `Index`.
    pub fn receive(
        &self,
        identity: &PrivateKey,
        random: &mut Random,
    ) -> Result<Received, HandshakeError> {
        let mut noise = Noise::responder(identity, random)?;
        let mut payload = [0; HELLO_LEN];
        noise.read(self.frame.noise(), &mut payload)?;
        let peer = noise.peer().ok_or(HandshakeError::State)?;
        let hello = Hello::decode(&payload)?;
        let (path_id, sender_index) = (self.frame.path_id(), self.frame.sender_index());
        Ok(Received { noise, peer, hello, path_id, sender_index })
    }
}

/// [`Incoming::verify`] and [`Incoming::receive`] in one.
///
/// # Errors
///
/// Any [`HandshakeError`] but `Index`.
pub fn receive(
    identity: &PrivateKey,
    frame: frame::Initiation<'_>,
    random: &mut Random,
) -> Result<Received, HandshakeError> {
    Incoming::verify(identity, frame)?.receive(identity, random)
}

/// An initiation that was opened.
pub struct Received {
    noise: Noise,
    /// The public key of the sender.
    pub peer: PublicKey,
    /// The peer's description of itself.
    pub hello: Hello,
    /// The path that this copy of it came on, 0 if the peer knows none.
    pub path_id: u16,
    /// The index that the peer expects in answers.
    pub sender_index: u32,
}

impl Received {
    /// Answers: what to send on every path that a copy comes on, and the keys of the session. The
    /// peer will put `index` in front of all it sends to us.
    ///
    /// # Errors
    ///
    /// [`HandshakeError::SmallOrder`] if the peer sent a key that is none.
    pub fn respond(
        mut self,
        psk: Option<&PresharedKey>,
        index: u32,
        welcome: &Welcome,
    ) -> Result<(Response, Transport), HandshakeError> {
        self.noise.set_psk(psk)?;
        let mut message = [0; RESPONSE_NOISE_LEN];
        self.noise.write(&welcome.encode(), &mut message)?;
        let (peer, remote_index) = (self.peer, self.sender_index);
        let (keys, split) = self.noise.into_transport()?;
        let transport = Transport::new(keys, split, index, remote_index);
        Ok((Response { peer, index, remote_index, message }, transport))
    }
}

/// Shows no key but public ones.
impl fmt::Debug for Received {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Received")
            .field("peer", &self.peer)
            .field("hello", &self.hello)
            .finish_non_exhaustive()
    }
}

/// The answer to an initiation. It holds no secrets.
#[derive(Clone, Debug)]
pub struct Response {
    peer: PublicKey,
    index: u32,
    remote_index: u32,
    message: [u8; RESPONSE_NOISE_LEN],
}

impl Response {
    /// The response as it is sent on the path `path_id`: that of the copy it answers.
    #[must_use]
    pub fn frame(&self, path_id: u16) -> [u8; RESPONSE_LEN] {
        let mut frame =
            frame::Response::emit(path_id, self.index, self.remote_index, &self.message);
        let mac1 = response_mac1(&self.peer, &frame::Response::of(&frame));
        frame::Response::set_mac1(&mut frame, &mac1);
        frame
    }
}

fn initiation_mac1(recipient: &PublicKey, frame: &frame::Initiation<'_>) -> [u8; MAC_LEN] {
    mac::mac(&mac::mac1_key(recipient), &[frame.before_mac1()])
}

fn response_mac1(recipient: &PublicKey, frame: &frame::Response<'_>) -> [u8; MAC_LEN] {
    mac::mac(&mac::mac1_key(recipient), &[frame.before_mac1()])
}
