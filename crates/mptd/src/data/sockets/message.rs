//! Messages of sessions and prototypes that leave together.

use mpt_core::SocketId;
use mpt_core::node::Transmit;
use mpt_linux::udp::MAX_BATCHES;
use socket2::SockAddr;

/// A message that knows its way.
#[derive(Debug)]
pub(in crate::data) struct Message {
    pub(in crate::data) socket: SocketId,
    pub(in crate::data) remote: SockAddr,
    pub(in crate::data) transmit: Transmit,
}

/// The messages of one call.
#[derive(Debug)]
pub(in crate::data) struct Messages {
    pub(in crate::data) gathered: Vec<Message>,
}

impl Default for Messages {
    fn default() -> Self {
        Self { gathered: Vec::with_capacity(MAX_BATCHES) }
    }
}
