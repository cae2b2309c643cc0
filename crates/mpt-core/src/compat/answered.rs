//! A command of the peer that is being answered, and its messages.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mpt_wire::compat::command::Header;

use crate::SocketId;

/// The longest time that an exchange may take: the six tries of the prototype for each of its two messages, and
/// as much again.
const LIFETIME: Duration = Duration::from_secs(12);

/// A command of the peer.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) source: SocketAddr,
    /// Its first message, of which there may be copies.
    pub(super) first: Vec<u8>,
    pub(super) header: Header,
    pub(super) nonce: u32,
    pub(super) at: Instant,
    /// The return code, once it was carried out.
    pub(super) result: Option<u8>,
}

/// A message with where it came from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    pub(super) socket: SocketId,
    pub(super) source: SocketAddr,
    pub(super) bytes: &'a [u8],
    pub(super) header: &'a Header,
    pub(super) payload: &'a [u8],
}

impl Answered {
    pub(super) fn is_alive(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < LIFETIME
    }
}
