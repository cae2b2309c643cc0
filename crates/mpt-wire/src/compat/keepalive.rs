//! Keepalives: 44 bytes of UDP payload on the data port, unauthenticated, unanswered.
//!
//! ```text
//! +-------+------+---------+-----+---------+---------------------+-----------------------+
//! | GRE 4 | 0xA1 | 0000000 |  v  | 0x00 00 | sender's tunnel 16  | receiver's tunnel 16  |
//! +-------+------+---------+-----+---------+---------------------+-----------------------+
//! 0       4      5         9     10        12                    28                      44
//! ```
//!
//! `v` is the version of the tunnel addresses, 4 or 6; the GRE header names the same version and
//! never has a sequence number. Receivers look at the first byte only; so do we.

use std::net::IpAddr;

use super::{code, mapped, version};
use crate::gre;

/// Length in bytes, GRE header included.
pub const LEN: usize = 44;

/// The tunnel addresses of both ends, of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// The tunnel address of the end that sends it.
    pub sender: IpAddr,
    /// The tunnel address of the other.
    pub receiver: IpAddr,
}

impl Keepalive {
    /// The UDP payload.
    pub fn emit(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        let protocol = match self.sender {
            IpAddr::V4(_) => gre::Protocol::IPV4,
            IpAddr::V6(_) => gre::Protocol::IPV6,
        };
        gre::Repr { protocol, checksum: false, key: None, sequence: None }.emit(&mut bytes[..4]);
        bytes[4] = code::KEEPALIVE;
        bytes[9] = version(self.sender);
        bytes[12..28].copy_from_slice(&mapped(self.sender));
        bytes[28..44].copy_from_slice(&mapped(self.receiver));
        bytes
    }
}
