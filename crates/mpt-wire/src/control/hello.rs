//! The payloads of a handshake: a Hello in the initiation, and a Welcome in the response. Both have
//! one length, padded with zeros, and travel sealed.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Kind      |   Flags   |S|K| Capabilities  |  Name length  |  Hello, 128 bytes
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                    GRE key (valid if K is set)                |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ~     Capabilities: at most 12 of id u16, version u16           ~  8..56
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ~     Sealing (16 bytes, valid if S is set)                     ~  56..72
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ~     Name: at most 32 bytes of UTF-8                           ~  72..104
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ~     Challenge time u64, challenge (16 bytes); zero if none    ~  104..128
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Flags   |S|A| Capabilities  |            Reserved           |  Welcome, 64 bytes
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ~     Capabilities: at most 11 of id u16, version u16           ~  4..48
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ~     Sealing (16 bytes, valid if S is set)                     ~  48..64
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Flags without a name and all padding are sent as zero and ignored on receipt, so that a later
//! version may give them a meaning. Capabilities that a receiver does not know are kept and mean
//! nothing to it.

use std::fmt;

use super::sealing::{SEALING_LEN, Sealing};
use crate::bytes::{array_at, set_u16_at, set_u32_at, set_u64_at, u16_at, u32_at, u64_at};

/// The length of a Hello.
pub const HELLO_LEN: usize = 128;
/// The length of a Welcome.
pub const WELCOME_LEN: usize = 64;
/// The most capabilities in a Hello: that many have room.
pub const MAX_HELLO_CAPABILITIES: usize = 12;
/// The most capabilities in a Welcome: that many have room.
pub const MAX_WELCOME_CAPABILITIES: usize = 11;
/// The length of a challenge, without its time.
pub const CHALLENGE_LEN: usize = 16;
/// The longest name, in bytes.
pub const MAX_NAME_LEN: usize = 32;

const KEY_PRESENT: u8 = 0x01;
const ATTACHED: u8 = 0x01;
/// The flag in a Hello and in a Welcome that the bytes of a [`Sealing`] are present.
const SEALING_PRESENT: u8 = 0x02;

/// The offsets of the fields of a Hello.
mod hello_at {
    pub(super) const KIND: usize = 0;
    pub(super) const FLAGS: usize = 1;
    pub(super) const CAPABILITY_COUNT: usize = 2;
    pub(super) const NAME_LEN: usize = 3;
    pub(super) const KEY: usize = 4;
    pub(super) const CAPABILITIES: usize = 8;
    pub(super) const SEALING: usize = 56;
    pub(super) const NAME: usize = 72;
    pub(super) const CHALLENGE_TIME: usize = 104;
    pub(super) const CHALLENGE: usize = 112;
}

/// The offsets of the fields of a Welcome.
mod welcome_at {
    pub(super) const FLAGS: usize = 0;
    pub(super) const CAPABILITY_COUNT: usize = 1;
    pub(super) const CAPABILITIES: usize = 4;
    pub(super) const SEALING: usize = 48;
}

/// Why bytes are not a Hello or a Welcome. They were authenticated: the peer is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Error {
    /// A kind of session that is not known.
    #[error("unknown kind of session")]
    Kind,
    /// More capabilities than there is room for.
    #[error("more capabilities than there is room for")]
    Capabilities,
    /// A name that is none: see [`Name`].
    #[error("a name is at most 32 bytes of UTF-8 without control characters")]
    Name,
}

/// The purpose of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It belongs to a connection and its paths.
    Connection,
    /// A program steers the daemon over it.
    Steering,
    /// A host that is to become a client registers its key over it.
    Joining,
}

impl Kind {
    const fn code(self) -> u8 {
        match self {
            Kind::Connection => 1,
            Kind::Steering => 2,
            Kind::Joining => 3,
        }
    }
}

/// Something that an end can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Capability {
    /// Number of the capability.
    pub id: u16,
    /// The highest version of it that the end can do.
    pub version: u16,
}

impl Capability {
    /// The control protocol itself, version 2.
    pub const CONTROL: Capability = Capability { id: 1, version: 2 };
    /// Sealed data: what [`Sealing`] says in a Hello or a Welcome.
    pub const SEALED_DATA: Capability = Capability { id: 2, version: 1 };

    /// Forward error correction: its sender restores data packets from [`Symbol`](super::Symbol)s.
    pub const FORWARD_CORRECTION: Capability = Capability { id: 3, version: 1 };

    /// The capabilities that this implementation announces, in Hello and in Welcome. A table in `docs/protocol.md`,
    /// section 23, says why other abilities need no announcement.
    pub const ANNOUNCED: &'static [Capability] =
        &[Self::CONTROL, Self::SEALED_DATA, Self::FORWARD_CORRECTION];

    const LEN: usize = 4;
}

const _: () = assert!(
    hello_at::CAPABILITIES + MAX_HELLO_CAPABILITIES * Capability::LEN == hello_at::SEALING
        && hello_at::SEALING + SEALING_LEN == hello_at::NAME
        && welcome_at::CAPABILITIES + MAX_WELCOME_CAPABILITIES * Capability::LEN
            == welcome_at::SEALING
        && welcome_at::SEALING + SEALING_LEN == WELCOME_LEN
);

/// At most `N` capabilities, in the order in which they are sent.
#[derive(Clone, Copy)]
pub struct Capabilities<const N: usize> {
    len: u8,
    all: [Capability; N],
}

impl<const N: usize> Capabilities<N> {
    /// No capability.
    pub const fn new() -> Self {
        Self { len: 0, all: [Capability { id: 0, version: 0 }; N] }
    }

    /// These capabilities, or none if they are more than `N`.
    pub fn from_slice(capabilities: &[Capability]) -> Option<Self> {
        let mut list = Self::new();
        list.all.get_mut(..capabilities.len())?.copy_from_slice(capabilities);
        list.len = u8::try_from(capabilities.len()).ok()?;
        Some(list)
    }

    /// All of them.
    pub fn as_slice(&self) -> &[Capability] {
        self.all.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// The version of a capability that the end said it can do: the first, if it was named twice.
    pub fn version(&self, id: u16) -> Option<u16> {
        self.as_slice().iter().find(|capability| capability.id == id).map(|found| found.version)
    }

    /// True if the end can do a capability, in this version or a higher one.
    pub fn has(&self, capability: Capability) -> bool {
        self.version(capability.id).is_some_and(|version| version >= capability.version)
    }

    fn encode(&self, bytes: &mut [u8]) {
        for (capability, bytes) in self.as_slice().iter().zip(bytes.chunks_exact_mut(4)) {
            set_u16_at(bytes, 0, capability.id);
            set_u16_at(bytes, 2, capability.version);
        }
    }

    fn decode(count: u8, bytes: &[u8]) -> Result<Self, Error> {
        let mut list = Self::new();
        list.len = count;
        let used = list.all.get_mut(..usize::from(count)).ok_or(Error::Capabilities)?;
        for (capability, bytes) in used.iter_mut().zip(bytes.chunks_exact(Capability::LEN)) {
            *capability = Capability { id: u16_at(bytes, 0), version: u16_at(bytes, 2) };
        }
        Ok(list)
    }
}

impl<const N: usize> Default for Capabilities<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> PartialEq for Capabilities<N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<const N: usize> Eq for Capabilities<N> {}

impl<const N: usize> fmt::Debug for Capabilities<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

/// The name of a connection: at most 32 bytes of UTF-8, without control characters because it is
/// printed. It may be empty.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Name {
    len: u8,
    /// Zero behind the name.
    bytes: [u8; MAX_NAME_LEN],
}

impl Name {
    /// A name.
    ///
    /// # Errors
    ///
    /// [`Error::Name`]
    pub fn new(name: &str) -> Result<Self, Error> {
        let mut bytes = [0; MAX_NAME_LEN];
        let used = bytes.get_mut(..name.len()).ok_or(Error::Name)?;
        used.copy_from_slice(name.as_bytes());
        if name.chars().any(char::is_control) {
            return Err(Error::Name);
        }
        let len = u8::try_from(name.len()).map_err(|_| Error::Name)?;
        Ok(Self { len, bytes })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        // Never otherwise: it was a string.
        let bytes = self.bytes.get(..usize::from(self.len)).unwrap_or_default();
        str::from_utf8(bytes).unwrap_or_default()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// The challenge of a responder, as the initiator repeats it: shows that this initiation was made
/// after the responder has issued the challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Challenge {
    /// The time by the responder's own clock at which it was issued. Never 0.
    pub time: u64,
    /// The value that the responder has made for this time.
    pub value: [u8; CHALLENGE_LEN],
}

/// The declaration of the initiator of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Purpose of the session.
    pub kind: Kind,
    /// The GRE key of the connection, if it has one already.
    pub key: Option<u32>,
    /// Capabilities of the initiator.
    pub capabilities: Capabilities<MAX_HELLO_CAPABILITIES>,
    /// The name of the connection at the initiator.
    pub name: Name,
    /// The responder's challenge, if it has demanded one. A time of 0 stands for none.
    pub challenge: Option<Challenge>,
    /// Declaration of the initiator about sealed data; `None` where it does not want any.
    pub sealing: Option<Sealing>,
}

impl Hello {
    /// The bytes of a Hello.
    pub fn encode(&self) -> [u8; HELLO_LEN] {
        let mut bytes = [0; HELLO_LEN];
        bytes[hello_at::KIND] = self.kind.code();
        if let Some(key) = self.key {
            bytes[hello_at::FLAGS] |= KEY_PRESENT;
            set_u32_at(&mut bytes, hello_at::KEY, key);
        }
        bytes[hello_at::CAPABILITY_COUNT] = self.capabilities.len;
        self.capabilities.encode(&mut bytes[hello_at::CAPABILITIES..hello_at::SEALING]);
        if let Some(sealing) = &self.sealing {
            bytes[hello_at::FLAGS] |= SEALING_PRESENT;
            sealing.encode(&mut bytes[hello_at::SEALING..hello_at::NAME]);
        }
        bytes[hello_at::NAME_LEN] = self.name.len;
        bytes[hello_at::NAME..hello_at::NAME + MAX_NAME_LEN].copy_from_slice(&self.name.bytes);
        if let Some(challenge) = &self.challenge {
            set_u64_at(&mut bytes, hello_at::CHALLENGE_TIME, challenge.time);
            bytes[hello_at::CHALLENGE..].copy_from_slice(&challenge.value);
        }
        bytes
    }

    /// Reads a Hello.
    ///
    /// # Errors
    ///
    /// [`Error`] names the first field that is wrong.
    pub fn decode(bytes: &[u8; HELLO_LEN]) -> Result<Self, Error> {
        let kind = match bytes[hello_at::KIND] {
            1 => Kind::Connection,
            2 => Kind::Steering,
            3 => Kind::Joining,
            _ => return Err(Error::Kind),
        };
        let has_key = bytes[hello_at::FLAGS] & KEY_PRESENT != 0;
        let capabilities = Capabilities::decode(
            bytes[hello_at::CAPABILITY_COUNT],
            &bytes[hello_at::CAPABILITIES..hello_at::SEALING],
        )?;
        let seals = bytes[hello_at::FLAGS] & SEALING_PRESENT != 0;
        let name_len = usize::from(bytes[hello_at::NAME_LEN]);
        let name = &bytes[hello_at::NAME..hello_at::NAME + MAX_NAME_LEN];
        let name = str::from_utf8(name.get(..name_len).ok_or(Error::Name)?);
        let challenge = Challenge {
            time: u64_at(bytes, hello_at::CHALLENGE_TIME),
            value: array_at(bytes, hello_at::CHALLENGE),
        };
        Ok(Self {
            kind,
            key: has_key.then(|| u32_at(bytes, hello_at::KEY)),
            capabilities,
            name: Name::new(name.map_err(|_| Error::Name)?)?,
            challenge: Some(challenge).filter(|challenge| challenge.time != 0),
            sealing: seals.then(|| Sealing::decode(&bytes[hello_at::SEALING..hello_at::NAME])),
        })
    }
}

/// The declaration of the responder of a handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Welcome {
    /// The responder has a connection for this session already.
    pub attached: bool,
    /// Capabilities of the responder.
    pub capabilities: Capabilities<MAX_WELCOME_CAPABILITIES>,
    /// Declaration of the responder about sealed data; `None` where data is not sealed. Only in the answer
    /// to a Hello that has it.
    pub sealing: Option<Sealing>,
}

impl Welcome {
    /// The bytes of a Welcome.
    pub fn encode(&self) -> [u8; WELCOME_LEN] {
        let mut bytes = [0; WELCOME_LEN];
        if self.attached {
            bytes[welcome_at::FLAGS] |= ATTACHED;
        }
        bytes[welcome_at::CAPABILITY_COUNT] = self.capabilities.len;
        self.capabilities.encode(&mut bytes[welcome_at::CAPABILITIES..welcome_at::SEALING]);
        if let Some(sealing) = &self.sealing {
            bytes[welcome_at::FLAGS] |= SEALING_PRESENT;
            sealing.encode(&mut bytes[welcome_at::SEALING..]);
        }
        bytes
    }

    /// Reads a Welcome.
    ///
    /// # Errors
    ///
    /// [`Error::Capabilities`]
    pub fn decode(bytes: &[u8; WELCOME_LEN]) -> Result<Self, Error> {
        Ok(Self {
            attached: bytes[welcome_at::FLAGS] & ATTACHED != 0,
            capabilities: Capabilities::decode(
                bytes[welcome_at::CAPABILITY_COUNT],
                &bytes[welcome_at::CAPABILITIES..welcome_at::SEALING],
            )?,
            sealing: (bytes[welcome_at::FLAGS] & SEALING_PRESENT != 0)
                .then(|| Sealing::decode(&bytes[welcome_at::SEALING..])),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::sealing::Suites;
    use super::*;

    const OTHER: Capability = Capability { id: 0x0203, version: 0x0405 };

    fn hello() -> Hello {
        Hello {
            kind: Kind::Connection,
            key: Some(0xdead_beef),
            capabilities: Capabilities::from_slice(&[Capability::CONTROL, OTHER]).unwrap(),
            name: Name::new("büro").unwrap(),
            challenge: Some(Challenge { time: 0x0102_0304_0506_0708, value: [0xcc; 16] }),
            sealing: None,
        }
    }

    fn sealing() -> Sealing {
        Sealing { index: 0x1a2b_3c4d, suites: Suites::WITHOUT_AES, first: 0x0900_0000_0001 }
    }

    #[test]
    fn sealed_data_is_told_in_both() {
        let bytes = [0x1a, 0x2b, 0x3c, 0x4d, 2, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 1];
        let hello = Hello { sealing: Some(sealing()), ..hello() };
        assert_eq!(hello.encode()[1], 3);
        assert_eq!(hello.encode()[56..72], bytes);
        assert_eq!(Hello::decode(&hello.encode()), Ok(hello));
        let welcome = Welcome { sealing: Some(sealing()), ..Welcome::default() };
        assert_eq!(welcome.encode()[0], 2);
        assert_eq!(welcome.encode()[48..], bytes);
        assert_eq!(Welcome::decode(&welcome.encode()), Ok(welcome));
    }

    #[test]
    fn a_hello() {
        let mut expected = [0; HELLO_LEN];
        expected[..16]
            .copy_from_slice(&[1, 1, 2, 5, 0xde, 0xad, 0xbe, 0xef, 0, 1, 0, 2, 2, 3, 4, 5]);
        expected[72..77].copy_from_slice(b"b\xc3\xbcro");
        expected[104..112].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        expected[112..].fill(0xcc);
        assert_eq!(hello().encode(), expected);
        assert_eq!(Hello::decode(&expected), Ok(hello()));
    }

    #[test]
    fn the_shortest_hello() {
        let hello = Hello {
            kind: Kind::Steering,
            key: None,
            capabilities: Capabilities::new(),
            name: Name::default(),
            challenge: None,
            sealing: None,
        };
        let mut expected = [0; HELLO_LEN];
        expected[0] = 2;
        assert_eq!(hello.encode(), expected);
        assert_eq!(Hello::decode(&expected), Ok(hello));
        expected[0] = 3;
        assert_eq!(Hello::decode(&expected), Ok(Hello { kind: Kind::Joining, ..hello }));
    }

    #[test]
    fn a_welcome() {
        let welcome = Welcome {
            attached: true,
            capabilities: Capabilities::from_slice(&[Capability::CONTROL]).unwrap(),
            sealing: None,
        };
        let mut expected = [0; WELCOME_LEN];
        expected[..8].copy_from_slice(&[1, 1, 0, 0, 0, 1, 0, 2]);
        assert_eq!(welcome.encode(), expected);
        assert_eq!(Welcome::decode(&expected), Ok(welcome));
        assert_eq!(Welcome::decode(&[0; WELCOME_LEN]), Ok(Welcome::default()));
    }

    #[test]
    fn what_has_no_meaning_yet_is_ignored() {
        let mut bytes = hello().encode();
        bytes[1] |= 0xfc;
        bytes[16..72].fill(0xff);
        bytes[77..104].fill(0xff);
        assert_eq!(Hello::decode(&bytes), Ok(hello()));
        // A key that is not said to be there.
        bytes[1] &= !KEY_PRESENT;
        assert_eq!(Hello::decode(&bytes), Ok(Hello { key: None, ..hello() }));

        let mut bytes = [0xff; WELCOME_LEN];
        bytes[..2].copy_from_slice(&[0xfc, 0]);
        assert_eq!(Welcome::decode(&bytes), Ok(Welcome::default()));
    }

    #[test]
    fn unknown_capabilities_are_kept() {
        let capabilities = Hello::decode(&hello().encode()).unwrap().capabilities;
        assert_eq!(capabilities.as_slice(), [Capability::CONTROL, OTHER]);
        assert_eq!(capabilities.version(1), Some(2));
        assert_eq!(capabilities.version(OTHER.id), Some(OTHER.version));
        assert_eq!(capabilities.version(Capability::SEALED_DATA.id), None);
    }

    #[test]
    fn errors_name_the_field() {
        for (at, value, error) in [
            (0, 0, Error::Kind),
            (0, 4, Error::Kind),
            (2, 13, Error::Capabilities),
            (3, 33, Error::Name),
            (72, 0xff, Error::Name),
            (72, b'\n', Error::Name),
        ] {
            let mut bytes = hello().encode();
            bytes[at] = value;
            assert_eq!(Hello::decode(&bytes), Err(error), "byte {at} = {value}");
        }
        let mut bytes = [0; WELCOME_LEN];
        bytes[1] = 12;
        assert_eq!(Welcome::decode(&bytes), Err(Error::Capabilities));
    }

    #[test]
    fn as_much_as_there_is_room_for() {
        let full = Hello {
            capabilities: Capabilities::from_slice(&[OTHER; 12]).unwrap(),
            name: Name::new(&"n".repeat(32)).unwrap(),
            sealing: Some(sealing()),
            ..hello()
        };
        assert_eq!(Hello::decode(&full.encode()), Ok(full));
        let full = Welcome {
            attached: false,
            capabilities: Capabilities::from_slice(&[OTHER; 11]).unwrap(),
            sealing: Some(sealing()),
        };
        assert_eq!(Welcome::decode(&full.encode()), Ok(full));
        assert_eq!(Capabilities::<12>::from_slice(&[OTHER; 13]), None);
        assert_eq!(Name::new(&"n".repeat(33)), Err(Error::Name));
    }
}
