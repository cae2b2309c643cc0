//! The messages between the two ends.

use crate::Address;

/// An initiation, as far as it is the same in all of its copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Initiation {
    /// Names it: index and ephemeral key.
    pub id: u8,
    /// The challenge in its Hello, by its time.
    pub challenge: Option<u8>,
}

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Message {
    /// To the responder: an initiation, with MAC 2 made from the cookie of this time and address.
    Initiation(Initiation, Option<(u8, Address)>),
    /// To the initiator: the answer to the initiation with this id, which makes these keys.
    Response {
        /// The initiation that is answered.
        id: u8,
        /// The keys.
        keys: u8,
    },
    /// To the initiator: the answer to the initiation with this id that demands a challenge.
    Cookie {
        /// The initiation that is answered.
        id: u8,
        /// The time of cookie and challenge.
        time: u8,
        /// The address that the cookie is bound to.
        address: Address,
    },
    /// To the responder: a frame under these keys, which confirms them. Frames are told apart by
    /// their counters.
    Confirmation {
        /// The keys.
        keys: u8,
        /// The counter.
        counter: u8,
    },
    /// To the initiator: a frame under these keys.
    Reply {
        /// The keys.
        keys: u8,
    },
    /// To the initiator: the challenge of an address that the responder has to follow it to.
    Probe {
        /// The random token, which stands for the address that it was sent to, too.
        token: u8,
    },
    /// To the responder: the answer to a probe.
    Echo {
        /// The token of the probe.
        token: u8,
    },
}

impl Message {
    /// True if it goes to the responder.
    #[must_use]
    pub fn is_for_responder(&self) -> bool {
        matches!(self, Self::Initiation(..) | Self::Confirmation { .. } | Self::Echo { .. })
    }
}
