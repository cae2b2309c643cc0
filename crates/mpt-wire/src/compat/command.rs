//! Commands: four messages ("rounds") over UDP, odd ones from the initiator, even ones the answers.
//!
//! ```text
//!  0      code                                   A2 path status, A3 create
//!  1      argument (1, 3) or return code (2, 4)
//!  2      authentication: 0 none, 1 nonce, 2 nonce and digest
//!  3      length of the authentication in bytes: 0, 4 or 36
//!  4      nonce, 4 bytes                         authentication 1 and 2
//!  8      digest, 32 bytes                       authentication 2
//!  a+4    round, 1 to 4                          a: length of the authentication
//!  a+5    IP version of the tunnel addresses
//!  a+6    0, 2 bytes
//!  a+8    tunnel address of the initiator, 16 bytes, in every round
//!  a+24   tunnel address of the responder, 16 bytes
//!  a+40   payload
//! ```
//!
//! The digest is SHA-256 over the message with a digest of zeros and 32 bytes of key behind it; it
//! is computed elsewhere.

use std::net::IpAddr;

use super::{MAX_DATAGRAM_LEN, code, mapped, unmapped, version};
use crate::bytes::{array_at, u8_at, u32_at};

/// Length of the header without authentication, in bytes.
pub const HEADER_LEN: usize = 40;
/// Length of a digest in bytes.
pub const DIGEST_LEN: usize = 32;
/// The offset of the digest, where there is one.
pub const DIGEST_AT: usize = 8;
/// Length of the payload of round 1: the length of that of round 3.
pub const ANNOUNCED_LEN: usize = 4;
/// Length of the payload of a path status change.
pub const PATH_STATUS_LEN: usize = 32;

/// Why bytes are no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Error {
    /// Shorter than its header.
    #[error("shorter than its header")]
    Truncated,
    /// Longer than [`MAX_DATAGRAM_LEN`].
    #[error("longer than any command")]
    TooLong,
    /// A code that is neither of a path status nor of a creation.
    #[error("unknown code")]
    Code,
    /// A type of authentication other than 0, 1, 2.
    #[error("unknown authentication")]
    Authentication,
    /// A round that is not from 1 to 4.
    #[error("no such round")]
    Round,
    /// The tunnel addresses are not of the version that the message names, or that is none.
    #[error("tunnel addresses of another IP version")]
    Version,
}

/// The kind of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A path goes up or down.
    PathStatus,
    /// A connection is to be created.
    Create,
}

/// The round of the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Round {
    /// The initiator announces the command.
    One,
    /// The responder gives its nonce.
    Two,
    /// The initiator says what it wants.
    Three,
    /// The responder says what came of it.
    Four,
}

/// The authentication of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Authentication {
    /// Commands are not authenticated.
    None,
    /// By a number of the responder that the initiator repeats: 0 in round 1.
    Nonce(u32),
    /// By that and a digest.
    Digest {
        /// The number.
        nonce: u32,
        /// The digest.
        digest: [u8; DIGEST_LEN],
    },
}

impl Authentication {
    /// Its length in bytes.
    pub fn wire_len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Nonce(_) => 4,
            Self::Digest { .. } => 4 + DIGEST_LEN,
        }
    }

    fn number(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::Nonce(_) => 1,
            Self::Digest { .. } => 2,
        }
    }
}

/// The header of a command. Both tunnel addresses are of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Kind of the command.
    pub code: Code,
    /// Argument in rounds 1 and 3, return code in rounds 2 and 4.
    pub argument: u8,
    /// Authentication of the message.
    pub authentication: Authentication,
    /// The round of the exchange.
    pub round: Round,
    /// Tunnel address of the initiator.
    pub initiator: IpAddr,
    /// Tunnel address of the responder.
    pub responder: IpAddr,
}

impl Header {
    /// Reads a message; gives its payload, too.
    pub fn parse(message: &[u8]) -> Result<(Self, &[u8]), Error> {
        if message.len() < HEADER_LEN {
            return Err(Error::Truncated);
        }
        if message.len() > MAX_DATAGRAM_LEN {
            return Err(Error::TooLong);
        }
        let code = match u8_at(message, 0) {
            code::PATH_STATUS => Code::PathStatus,
            code::CREATE => Code::Create,
            _ => return Err(Error::Code),
        };
        let length = match u8_at(message, 2) {
            0 => 0,
            1 => 4,
            2 => 4 + DIGEST_LEN,
            _ => return Err(Error::Authentication),
        };
        if message.len() < HEADER_LEN + length {
            return Err(Error::Truncated);
        }
        let authentication = match length {
            0 => Authentication::None,
            4 => Authentication::Nonce(u32_at(message, 4)),
            _ => Authentication::Digest {
                nonce: u32_at(message, 4),
                digest: array_at(message, DIGEST_AT),
            },
        };
        let fields = message.get(length..).ok_or(Error::Truncated)?;
        let (fields, payload) = fields.split_at_checked(HEADER_LEN).ok_or(Error::Truncated)?;
        let round = match u8_at(fields, 4) {
            1 => Round::One,
            2 => Round::Two,
            3 => Round::Three,
            4 => Round::Four,
            _ => return Err(Error::Round),
        };
        let initiator = unmapped(array_at(fields, 8));
        let responder = unmapped(array_at(fields, 24));
        if [initiator, responder].iter().any(|&address| version(address) != u8_at(fields, 5)) {
            return Err(Error::Version);
        }
        let argument = u8_at(message, 1);
        Ok((Self { code, argument, authentication, round, initiator, responder }, payload))
    }

    /// The whole message. A digest goes out as it is here, so the one to be computed is zeros.
    pub fn emit(&self, payload: &[u8], message: &mut Vec<u8>) {
        message.clear();
        let code = match self.code {
            Code::PathStatus => code::PATH_STATUS,
            Code::Create => code::CREATE,
        };
        let authentication = self.authentication;
        message.extend([
            code,
            self.argument,
            authentication.number(),
            u8::try_from(authentication.wire_len()).unwrap_or(u8::MAX),
        ]);
        match authentication {
            Authentication::None => {}
            Authentication::Nonce(nonce) => message.extend(nonce.to_be_bytes()),
            Authentication::Digest { nonce, digest } => {
                message.extend(nonce.to_be_bytes());
                message.extend(digest);
            }
        }
        let round = match self.round {
            Round::One => 1,
            Round::Two => 2,
            Round::Three => 3,
            Round::Four => 4,
        };
        message.extend([round, version(self.initiator), 0, 0]);
        message.extend(mapped(self.initiator));
        message.extend(mapped(self.responder));
        message.extend(payload);
    }
}

/// Payload of round 3 of a path status change: which path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathStatus {
    /// The initiator's address of the path, as the responder knows it.
    pub public: IpAddr,
    /// The responder's address of the path, as the initiator knows it.
    pub remote: IpAddr,
}

impl PathStatus {
    /// Reads a payload. Whatever follows is ignored, as the prototype does.
    pub fn parse(payload: &[u8]) -> Result<Self, Error> {
        if payload.len() < PATH_STATUS_LEN {
            return Err(Error::Truncated);
        }
        let address = |at| unmapped(array_at(payload, at));
        Ok(Self { public: address(0), remote: address(16) })
    }

    /// The payload.
    pub fn emit(&self) -> [u8; PATH_STATUS_LEN] {
        let mut bytes = [0; PATH_STATUS_LEN];
        bytes[..16].copy_from_slice(&mapped(self.public));
        bytes[16..].copy_from_slice(&mapped(self.remote));
        bytes
    }
}

/// Payload of round 1: the length of that of round 3, in the byte order of the prototype's hosts.
/// Nobody evaluates it.
pub fn announced(len: usize) -> [u8; ANNOUNCED_LEN] {
    u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes()
}
