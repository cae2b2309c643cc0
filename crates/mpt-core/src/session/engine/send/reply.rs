//! The way of an answer, and how much may go there.

use mpt_wire::control::Writer;
use mpt_wire::control::frame::{SEALED_HEADER_LEN, TAG_LEN};

use super::allowance::Allowance;
use crate::session::Random;
use crate::session::engine::keys::epochs::Place;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::shared::Shared;
use crate::session::engine::{Destination, SessionPathId};

/// The destination of the answer to a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub(crate) place: Place,
    pub(crate) wire_id: SessionPathId,
    pub(crate) destination: Destination,
    pub(crate) allowance: Allowance,
}

impl Reply {
    /// Returns the length of a frame with messages of `len` bytes.
    pub(crate) const fn frame_len(len: usize) -> usize {
        SEALED_HEADER_LEN + len + TAG_LEN
    }
}

impl Session {
    /// Answers a frame where it came from, as far as the address has an allowance: no more goes to an
    /// address that is not proved than came from there.
    pub(crate) fn reply(
        &mut self,
        shared: &mut Shared,
        reply: &mut Reply,
        messages: impl FnOnce(&mut Self, &mut Writer<'_>, &mut Random) -> bool,
        limit: usize,
    ) -> bool {
        let Some(room) = reply.allowance.left_beside(Reply::frame_len(0)) else { return false };
        let Reply { place, wire_id, destination, .. } = *reply;
        let len = self.send_len(shared, place, wire_id, destination, messages, limit.min(room));
        if let Some(len) = len {
            reply.allowance.spend(Reply::frame_len(len));
        }
        len.is_some()
    }
}
