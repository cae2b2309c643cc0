//! The four frames of the control protocol: what is on the wire before anything is opened.
//!
//! Every frame starts with its type and the version of the protocol. An initiation (type 1):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 1    |  Version = 2  |            Path ID            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                         Sender Index                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |      Noise message 1: ephemeral key (32 bytes), sealed        |
//! ~      static key (32 + 16), sealed Hello (128 + 16)            ~
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ~                        MAC 1 (16 bytes)                       ~
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                     Cookie time (8 bytes)                     |
//! |                                                               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ~                        MAC 2 (16 bytes)                       ~
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! A response (type 2):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 2    |  Version = 2  |            Path ID            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                         Sender Index                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                        Receiver Index                         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |      Noise message 2: ephemeral key (32 bytes), sealed        |
//! ~      Welcome (64 + 16)                                        ~
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ~                        MAC 1 (16 bytes)                       ~
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! A cookie (type 3):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 3    |  Version = 2  |            Path ID            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                        Receiver Index                         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ~                        Nonce (24 bytes)                       ~
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ~   Sealed: time (8), cookie (16), challenge (16), tag (16)     ~
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! A sealed frame (type 4) of an established session; path id and counter, 64 bits, are the nonce:
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 4    |  Version = 2  |     Receiver Index (high)     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Receiver Index (low)      |            Path ID            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                       Counter (48 bits)                       |
//! +                               +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                               |   Sealed messages, tag (16)   ~
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Types 1 to 3 have one length each. A response and a cookie are shorter than the initiation that
//! they answer, so that no reply amplifies.

use std::ops::Range;

use crate::bytes::{array_at, set_u16_at, set_u32_at, set_u64_at, u16_at, u32_at, u64_at};

/// The version of the protocol that this is.
pub const VERSION: u8 = 2;

/// The length of an initiation.
pub const INITIATION_LEN: usize = 272;
/// The length of a response.
pub const RESPONSE_LEN: usize = 140;
/// The length of a cookie frame.
pub const COOKIE_LEN: usize = 88;
/// The length of what stands before the ciphertext of a sealed frame.
pub const SEALED_HEADER_LEN: usize = 14;
/// The length of what authenticates a ciphertext, at its end (Poly1305, RFC 8439).
pub const TAG_LEN: usize = 16;
/// The length of MAC 1 and MAC 2.
pub const MAC_LEN: usize = 16;
/// The longest frame that does not test a path MTU. With the headers before it (at most 40 + 8 + 8
/// bytes) it fits into the smallest MTU of IPv6, 1280 bytes, so no path refuses it.
pub const MAX_FRAME_LEN: usize = 1200;
/// The longest row of messages that a sealed frame has room for, except in a probe of the path MTU.
pub const MAX_PAYLOAD_LEN: usize = MAX_FRAME_LEN - SEALED_HEADER_LEN - TAG_LEN;

/// The longest frame that tests a path MTU: with IPv4, UDP and the shortest GRE header it makes an
/// outer packet of 9,216 bytes, which is the largest size tested.
pub const MAX_PROBE_FRAME_LEN: usize = 9216 - 20 - 8 - 4;
/// The longest row of messages in a frame that tests a path MTU.
pub const MAX_PROBE_PAYLOAD_LEN: usize = MAX_PROBE_FRAME_LEN - SEALED_HEADER_LEN - TAG_LEN;

/// The length of Noise message 1: ephemeral key, sealed static key, sealed Hello.
pub const INITIATION_NOISE_LEN: usize = 32 + 32 + TAG_LEN + super::hello::HELLO_LEN + TAG_LEN;
/// The length of Noise message 2: ephemeral key, sealed Welcome.
pub const RESPONSE_NOISE_LEN: usize = 32 + super::hello::WELCOME_LEN + TAG_LEN;
/// The length of the nonce of a cookie (XChaCha20-Poly1305).
pub const COOKIE_NONCE_LEN: usize = 24;
/// The length of what a cookie frame seals: the time, the cookie and the challenge.
pub const COOKIE_CONTENT_LEN: usize = 8 + 16 + 16;
/// The length of what a cookie frame seals, with its tag.
pub const SEALED_COOKIE_LEN: usize = COOKIE_CONTENT_LEN + TAG_LEN;

/// The counters of a sealed frame are below this: 48 bits.
pub const COUNTER_END: u64 = 1 << 48;

/// The values of byte 0.
mod kind {
    pub(super) const INITIATION: u8 = 1;
    pub(super) const RESPONSE: u8 = 2;
    pub(super) const COOKIE: u8 = 3;
    pub(super) const SEALED: u8 = 4;
}

/// The offsets of the fields.
mod field {
    use super::*;

    pub(super) const TYPE: usize = 0;
    pub(super) const VERSION: usize = 1;
    /// The path id of frames of types 1 to 3.
    pub(super) const PATH_ID: usize = 2;

    pub(super) mod initiation {
        use super::*;

        pub(in super::super) const SENDER_INDEX: usize = 4;
        pub(in super::super) const NOISE: Range<usize> = 8..8 + INITIATION_NOISE_LEN;
        pub(in super::super) const MAC1: Range<usize> = NOISE.end..NOISE.end + MAC_LEN;
        pub(in super::super) const COOKIE_TIME: usize = MAC1.end;
        pub(in super::super) const MAC2: Range<usize> = COOKIE_TIME + 8..INITIATION_LEN;
    }

    pub(super) mod response {
        use super::*;

        pub(in super::super) const SENDER_INDEX: usize = 4;
        pub(in super::super) const RECEIVER_INDEX: usize = 8;
        pub(in super::super) const NOISE: Range<usize> = 12..12 + RESPONSE_NOISE_LEN;
        pub(in super::super) const MAC1: Range<usize> = NOISE.end..RESPONSE_LEN;
    }

    pub(super) mod cookie {
        use super::*;

        pub(in super::super) const RECEIVER_INDEX: usize = 4;
        pub(in super::super) const NONCE: Range<usize> = 8..8 + COOKIE_NONCE_LEN;
        pub(in super::super) const SEALED: Range<usize> = NONCE.end..COOKIE_LEN;
    }

    pub(super) mod sealed {
        use super::*;

        pub(in super::super) const RECEIVER_INDEX: usize = 2;
        /// Path id and counter.
        pub(in super::super) const NONCE: Range<usize> = 6..SEALED_HEADER_LEN;
    }
}

const _: () = {
    assert!(field::initiation::MAC2.end - field::initiation::MAC2.start == MAC_LEN);
    assert!(field::response::MAC1.end - field::response::MAC1.start == MAC_LEN);
    assert!(field::cookie::SEALED.end - field::cookie::SEALED.start == SEALED_COOKIE_LEN);
    assert!(field::sealed::NONCE.end - field::sealed::NONCE.start == 8);
};

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Error {
    /// Shorter than the shortest frame of its type.
    #[error("shorter than a control frame of its type")]
    Truncated,
    /// Longer than the longest frame of its type.
    #[error("longer than a control frame of its type")]
    Length,
    /// The frame is of another version of the protocol.
    #[error("control frame of an unknown version")]
    Version,
    /// The frame is of a type that this version does not have.
    #[error("control frame of an unknown type")]
    Type,
}

/// A frame, as its type says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The first message of a handshake.
    Initiation(Initiation<'a>),
    /// The second and last message of a handshake.
    Response(Response<'a>),
    /// The challenge that a responder answers to an initiation instead of a response.
    Cookie(Cookie<'a>),
    /// Messages of an established session.
    Sealed(Sealed<'a>),
}

/// Looks at what a frame is. Nothing is authenticated by that.
///
/// # Errors
///
/// [`Error`] names what is wrong with it; the version is looked at before the type.
pub fn parse(bytes: &[u8]) -> Result<Frame<'_>, Error> {
    let &[kind, version, ..] = bytes else { return Err(Error::Truncated) };
    if version != VERSION {
        return Err(Error::Version);
    }
    match kind {
        kind::INITIATION => Ok(Frame::Initiation(Initiation { bytes: exactly(bytes)? })),
        kind::RESPONSE => Ok(Frame::Response(Response { bytes: exactly(bytes)? })),
        kind::COOKIE => Ok(Frame::Cookie(Cookie { bytes: exactly(bytes)? })),
        kind::SEALED if bytes.len() < SEALED_HEADER_LEN + TAG_LEN => Err(Error::Truncated),
        kind::SEALED if bytes.len() > MAX_PROBE_FRAME_LEN => Err(Error::Length),
        kind::SEALED => Ok(Frame::Sealed(Sealed { bytes })),
        _ => Err(Error::Type),
    }
}

fn exactly<const N: usize>(bytes: &[u8]) -> Result<&[u8; N], Error> {
    bytes.try_into().map_err(|_| if bytes.len() < N { Error::Truncated } else { Error::Length })
}

/// A view of an initiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initiation<'a> {
    bytes: &'a [u8; INITIATION_LEN],
}

impl<'a> Initiation<'a> {
    /// An initiation whose MACs and cookie time are still zero.
    pub fn emit(
        path_id: u16,
        sender_index: u32,
        noise: &[u8; INITIATION_NOISE_LEN],
    ) -> [u8; INITIATION_LEN] {
        let mut frame = start(kind::INITIATION, path_id);
        set_u32_at(&mut frame, field::initiation::SENDER_INDEX, sender_index);
        frame[field::initiation::NOISE].copy_from_slice(noise);
        frame
    }

    /// Completes [`before_mac1`](Self::before_mac1) of an emitted frame.
    pub fn set_mac1(frame: &mut [u8; INITIATION_LEN], mac: &[u8; MAC_LEN]) {
        frame[field::initiation::MAC1].copy_from_slice(mac);
    }

    /// Sets the time of the cookie that MAC 2 is made with. It is part of
    /// [`before_mac2`](Self::before_mac2), and stays zero where there is no cookie.
    pub fn set_cookie_time(frame: &mut [u8; INITIATION_LEN], time: u64) {
        set_u64_at(frame, field::initiation::COOKIE_TIME, time);
    }

    /// Completes [`before_mac2`](Self::before_mac2) of an emitted frame. MAC 2 stays zero where
    /// there is no cookie.
    pub fn set_mac2(frame: &mut [u8; INITIATION_LEN], mac: &[u8; MAC_LEN]) {
        frame[field::initiation::MAC2].copy_from_slice(mac);
    }

    /// A view of bytes that are known to be an initiation, having been [emitted](Self::emit).
    pub fn of(bytes: &'a [u8; INITIATION_LEN]) -> Self {
        Self { bytes }
    }

    /// The path that it was sent on, 0 if the sender knows none.
    pub fn path_id(&self) -> u16 {
        u16_at(self.bytes, field::PATH_ID)
    }

    /// Returns what the sender wants to see as receiver index in answers.
    pub fn sender_index(&self) -> u32 {
        u32_at(self.bytes, field::initiation::SENDER_INDEX)
    }

    /// Noise message 1. It is the same in the copies of one initiation on several paths.
    pub fn noise(&self) -> &'a [u8] {
        &self.bytes[field::initiation::NOISE]
    }

    /// Returns what MAC 1 authenticates.
    pub fn before_mac1(&self) -> &'a [u8] {
        &self.bytes[..field::initiation::MAC1.start]
    }

    /// Proves that the sender knows the receiver's public key.
    pub fn mac1(&self) -> [u8; MAC_LEN] {
        array_at(self.bytes, field::initiation::MAC1.start)
    }

    /// The time of the cookie that MAC 2 is made with; zero without cookie. Copies of one initiation
    /// may differ in it.
    pub fn cookie_time(&self) -> u64 {
        u64_at(self.bytes, field::initiation::COOKIE_TIME)
    }

    /// Returns what MAC 2 authenticates.
    pub fn before_mac2(&self) -> &'a [u8] {
        &self.bytes[..field::initiation::MAC2.start]
    }

    /// Proves that the sender got a cookie, thus receives at its address; zero without cookie.
    pub fn mac2(&self) -> [u8; MAC_LEN] {
        array_at(self.bytes, field::initiation::MAC2.start)
    }
}

/// A view of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    bytes: &'a [u8; RESPONSE_LEN],
}

impl<'a> Response<'a> {
    /// A response whose MAC is still zero.
    pub fn emit(
        path_id: u16,
        sender_index: u32,
        receiver_index: u32,
        noise: &[u8; RESPONSE_NOISE_LEN],
    ) -> [u8; RESPONSE_LEN] {
        let mut frame = start(kind::RESPONSE, path_id);
        set_u32_at(&mut frame, field::response::SENDER_INDEX, sender_index);
        set_u32_at(&mut frame, field::response::RECEIVER_INDEX, receiver_index);
        frame[field::response::NOISE].copy_from_slice(noise);
        frame
    }

    /// Completes [`before_mac1`](Self::before_mac1) of an emitted frame.
    pub fn set_mac1(frame: &mut [u8; RESPONSE_LEN], mac: &[u8; MAC_LEN]) {
        frame[field::response::MAC1].copy_from_slice(mac);
    }

    /// A view of bytes that are known to be a response, having been [emitted](Self::emit).
    pub fn of(bytes: &'a [u8; RESPONSE_LEN]) -> Self {
        Self { bytes }
    }

    /// The path that it was sent on, 0 if the sender knows none.
    pub fn path_id(&self) -> u16 {
        u16_at(self.bytes, field::PATH_ID)
    }

    /// Returns what the sender wants to see as receiver index in sealed frames.
    pub fn sender_index(&self) -> u32 {
        u32_at(self.bytes, field::response::SENDER_INDEX)
    }

    /// The sender index of the initiation that it answers.
    pub fn receiver_index(&self) -> u32 {
        u32_at(self.bytes, field::response::RECEIVER_INDEX)
    }

    /// Noise message 2.
    pub fn noise(&self) -> &'a [u8] {
        &self.bytes[field::response::NOISE]
    }

    /// Returns what the MAC authenticates.
    pub fn before_mac1(&self) -> &'a [u8] {
        &self.bytes[..field::response::MAC1.start]
    }

    /// Proves that the sender knows the receiver's public key.
    pub fn mac1(&self) -> [u8; MAC_LEN] {
        array_at(self.bytes, field::response::MAC1.start)
    }
}

/// A view of a cookie frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie<'a> {
    bytes: &'a [u8; COOKIE_LEN],
}

impl Cookie<'_> {
    /// A cookie frame.
    pub fn emit(
        path_id: u16,
        receiver_index: u32,
        nonce: &[u8; COOKIE_NONCE_LEN],
        sealed: &[u8; SEALED_COOKIE_LEN],
    ) -> [u8; COOKIE_LEN] {
        let mut frame = start(kind::COOKIE, path_id);
        set_u32_at(&mut frame, field::cookie::RECEIVER_INDEX, receiver_index);
        frame[field::cookie::NONCE].copy_from_slice(nonce);
        frame[field::cookie::SEALED].copy_from_slice(sealed);
        frame
    }

    /// The path that it was sent on, 0 if the sender knows none.
    pub fn path_id(&self) -> u16 {
        u16_at(self.bytes, field::PATH_ID)
    }

    /// The sender index of the initiation that it answers.
    pub fn receiver_index(&self) -> u32 {
        u32_at(self.bytes, field::cookie::RECEIVER_INDEX)
    }

    /// The nonce under which the cookie is sealed.
    pub fn nonce(&self) -> [u8; COOKIE_NONCE_LEN] {
        array_at(self.bytes, field::cookie::NONCE.start)
    }

    /// Time, cookie and challenge, sealed, and their tag.
    pub fn sealed(&self) -> [u8; SEALED_COOKIE_LEN] {
        array_at(self.bytes, field::cookie::SEALED.start)
    }
}

/// A view of a sealed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed<'a> {
    bytes: &'a [u8],
}

impl<'a> Sealed<'a> {
    /// Returns what stands before the ciphertext.
    pub fn header(&self) -> SealedHeader {
        SealedHeader {
            receiver_index: u32_at(self.bytes, field::sealed::RECEIVER_INDEX),
            path_id: u16_at(self.bytes, field::sealed::NONCE.start),
            counter: u64_at(self.bytes, field::sealed::NONCE.start) & (COUNTER_END - 1),
        }
    }

    /// The ciphertext and its tag: 16 bytes at least.
    pub fn ciphertext(&self) -> &'a [u8] {
        self.bytes.get(SEALED_HEADER_LEN..).unwrap_or_default()
    }
}

/// The fields before the ciphertext of a sealed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SealedHeader {
    /// The index that the receiver gave to its keys.
    pub receiver_index: u32,
    /// The path that it is sent on.
    pub path_id: u16,
    /// Counts the frames of this path under these keys: below [`COUNTER_END`].
    pub counter: u64,
}

impl SealedHeader {
    /// The nonce: path id << 48 | counter.
    ///
    /// # Panics
    ///
    /// If the counter has more than 48 bits: a nonce would repeat.
    pub fn nonce(&self) -> u64 {
        assert!(self.counter < COUNTER_END, "the counter has 48 bits");
        u64::from(self.path_id) << 48 | self.counter
    }

    /// The bytes before the ciphertext.
    ///
    /// # Panics
    ///
    /// If the counter has more than 48 bits: a nonce would repeat.
    pub fn emit(&self) -> [u8; SEALED_HEADER_LEN] {
        let mut header = [0; SEALED_HEADER_LEN];
        header[field::TYPE] = kind::SEALED;
        header[field::VERSION] = VERSION;
        set_u32_at(&mut header, field::sealed::RECEIVER_INDEX, self.receiver_index);
        header[field::sealed::NONCE].copy_from_slice(&self.nonce().to_be_bytes());
        header
    }
}

/// The first four bytes of types 1 to 3.
fn start<const N: usize>(kind: u8, path_id: u16) -> [u8; N] {
    let mut frame = [0; N];
    frame[field::TYPE] = kind;
    frame[field::VERSION] = VERSION;
    set_u16_at(&mut frame, field::PATH_ID, path_id);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_initiation() {
        let mut noise = [0xee; INITIATION_NOISE_LEN];
        (noise[0], noise[223]) = (0xe0, 0xe1);
        let mut frame = Initiation::emit(0x0102, 0x0304_0506, &noise);
        assert_eq!(frame[..9], [1, 2, 1, 2, 3, 4, 5, 6, 0xe0]);
        assert_eq!(frame[231..], [&[0xe1][..], &[0; 40]].concat());
        Initiation::set_mac1(&mut frame, &[0xa1; 16]);
        Initiation::set_cookie_time(&mut frame, 0x0102_0304_0506_0708);
        Initiation::set_mac2(&mut frame, &[0xa2; 16]);
        let time = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(frame[232..], [&[0xa1; 16][..], &time, &[0xa2; 16]].concat());

        let Ok(Frame::Initiation(view)) = parse(&frame) else { panic!("an initiation") };
        assert_eq!(view, Initiation::of(&frame));
        assert_eq!((view.path_id(), view.sender_index()), (0x0102, 0x0304_0506));
        assert_eq!(view.noise(), noise);
        assert_eq!((view.before_mac1().len(), view.mac1()), (232, [0xa1; 16]));
        assert_eq!((view.before_mac2().len(), view.mac2()), (256, [0xa2; 16]));
        assert_eq!(view.cookie_time(), 0x0102_0304_0506_0708);
    }

    #[test]
    fn a_response() {
        let mut noise = [0xee; RESPONSE_NOISE_LEN];
        (noise[0], noise[111]) = (0xe0, 0xe1);
        let mut frame = Response::emit(7, 0x0304_0506, 0x0708_090a, &noise);
        assert_eq!(frame[..13], [2, 2, 0, 7, 3, 4, 5, 6, 7, 8, 9, 10, 0xe0]);
        assert_eq!(frame[123..], [&[0xe1][..], &[0; 16]].concat());
        Response::set_mac1(&mut frame, &[0xa1; 16]);
        assert_eq!(frame[124..], [0xa1; 16]);

        let Ok(Frame::Response(view)) = parse(&frame) else { panic!("a response") };
        assert_eq!(view, Response::of(&frame));
        assert_eq!((view.path_id(), view.sender_index()), (7, 0x0304_0506));
        assert_eq!((view.receiver_index(), view.noise()), (0x0708_090a, &noise[..]));
        assert_eq!((view.before_mac1().len(), view.mac1()), (124, [0xa1; 16]));
    }

    #[test]
    fn a_cookie() {
        let frame = Cookie::emit(0, 0x0304_0506, &[0x11; 24], &[0x22; 56]);
        assert_eq!(frame[..9], [3, 2, 0, 0, 3, 4, 5, 6, 0x11]);
        assert_eq!(frame[31..33], [0x11, 0x22]);
        let Ok(Frame::Cookie(view)) = parse(&frame) else { panic!("a cookie") };
        assert_eq!((view.path_id(), view.receiver_index()), (0, 0x0304_0506));
        assert_eq!((view.nonce(), view.sealed()), ([0x11; 24], [0x22; 56]));
    }

    #[test]
    fn a_sealed_frame() {
        let header = SealedHeader {
            receiver_index: 0x0102_0304,
            path_id: 0x0506,
            counter: 0x0708_090a_0b0c,
        };
        let mut frame = header.emit().to_vec();
        assert_eq!(frame, [4, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(header.nonce(), 0x0506_0708_090a_0b0c);
        frame.extend([0xcc; 17]);
        let Ok(Frame::Sealed(view)) = parse(&frame) else { panic!("a sealed frame") };
        assert_eq!((view.header(), view.ciphertext()), (header, &[0xcc; 17][..]));
    }

    #[test]
    #[should_panic(expected = "48 bits")]
    fn a_counter_of_49_bits_is_refused() {
        SealedHeader { receiver_index: 0, path_id: 0, counter: 1 << 48 }.emit();
    }

    #[test]
    fn every_length_of_every_type() {
        let mut bytes = [0; MAX_PROBE_FRAME_LEN + 2];
        bytes[1] = VERSION;
        for (kind, range) in [(1, 272..=272), (2, 140..=140), (3, 88..=88), (4, 30..=9184)] {
            bytes[0] = kind;
            for len in 0..=bytes.len() {
                let expected = match len {
                    _ if len < *range.start() => Err(Error::Truncated),
                    _ if len > *range.end() => Err(Error::Length),
                    _ => Ok(()),
                };
                assert_eq!(parse(&bytes[..len]).map(|_| ()), expected, "type {kind}, {len} bytes");
            }
        }
    }

    #[test]
    fn every_type_and_version() {
        for kind in 0..=u8::MAX {
            for version in 0..=u8::MAX {
                let expected = match (kind, version) {
                    (1..=4, 2) => Error::Truncated,
                    (_, 2) => Error::Type,
                    _ => Error::Version,
                };
                assert_eq!(parse(&[kind, version]), Err(expected));
            }
        }
    }
}
