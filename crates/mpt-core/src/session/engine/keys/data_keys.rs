//! The keys of sealed data, what both ends have agreed on for them, and what a session wants of it.

use mpt_wire::control::Sealing;

use crate::seal::keys::{Agreement, Keys};
use crate::seal::{Opener, Seal, Sealer};
use crate::session::Transport;

/// The configuration and state of a session's sealed data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) seal: Seal,
    /// The peer has sealed: it is not accepted without any more, until `seal` is another one.
    pub(crate) pinned: bool,
    /// The 64-bit number of the next packet.
    pub(crate) first: u64,
    /// Keys to seal with are missing, or used up soon.
    pub(crate) starved: bool,
    /// The owner was told that the peer does not seal, and whether there is data then.
    pub(crate) told: Option<SealState>,
}

/// The state of sealing of a session's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealState {
    /// Data is not sealed, as this end is configured.
    Off,
    /// There are no keys yet.
    Waiting,
    /// Sealed with this suite.
    Sealed(mpt_wire::control::Suite),
    /// Data is not sealed, since the peer does not seal.
    PlainPeer,
    /// The peer does not seal, which is not accepted: there is no data.
    Refused,
}

/// The keys of sealed data that an epoch has.
#[derive(Debug, Default)]
pub(crate) struct DataKeys {
    pub(crate) agreement: Option<Agreed>,
    pub(crate) sealer: Option<Box<Sealer>>,
    pub(crate) opener: Option<Box<Opener>>,
}

/// The agreement of both ends for an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreed {
    pub(crate) suite: mpt_wire::control::Suite,
    /// The index of what comes in,
    pub(crate) local: u32,
    /// and of what is sent.
    pub(crate) remote: u32,
}

impl DataKeys {
    /// Takes them from the keys of a handshake; none without an agreement.
    pub(crate) fn take(transport: &mut Transport, agreement: Option<&Agreement>) -> Self {
        let Some(Keys { sealer, opener }) = transport.take_data_keys(agreement) else {
            return Self::default();
        };
        let (local, remote) = (opener.index(), sealer.index());
        let agreed = Agreed { suite: sealer.suite(), local, remote };
        Self { agreement: Some(agreed), sealer: Some(sealer), opener: Some(opener) }
    }
}

impl Agreement {
    /// Returns what follows from a Hello and its Welcome.
    pub(crate) fn of(hello: Option<Sealing>, welcome: Option<Sealing>) -> Option<Self> {
        let (initiator, responder) = (hello?, welcome?);
        let suite = initiator.suites.agree(responder.suites)?;
        Some(Self { suite, initiator, responder })
    }
}
