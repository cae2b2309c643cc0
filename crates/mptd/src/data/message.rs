//! Messages of sessions and prototypes that leave together.

use mpt_core::SocketId;
use mpt_core::node::Transmit;
use mpt_linux::udp::MAX_BATCHES;
use socket2::SockAddr;

/// A message that knows its way.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) socket: SocketId,
    pub(super) remote: SockAddr,
    pub(super) transmit: Transmit,
}

/// The messages of one call.
#[derive(Debug)]
pub(super) struct Messages {
    pub(super) gathered: Vec<Message>,
}

impl Default for Messages {
    fn default() -> Self {
        Self { gathered: Vec::with_capacity(MAX_BATCHES) }
    }
}
