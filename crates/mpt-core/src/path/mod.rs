//! One path of a connection: a pair of addresses, its state and its counters.

mod bounds;
pub mod discovery;
pub(crate) mod feedback;
pub(crate) mod model;
pub mod mtu;
pub mod reported;
mod transitions;

use std::net::SocketAddr;
use std::num::NonZeroU16;

pub use bounds::{BadBounds, RateBounds};
pub use model::Estimate;
pub use transitions::Transition;
pub(crate) use transitions::Transitions;

use mpt_wire::control::Economy;

use crate::tunnel::registry::Registry;
use crate::{ConnectionId, PathConfig, PathId, Traffic};

/// The number that is added to the tier of a path that is a last resort.
const AFTER_ALL_TIERS: u16 = 1 + u8::MAX as u16;

/// Why a path is down. A path is up when no reason is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DownReason {
    /// The administrator said so.
    Administrative,
    /// The name of its other end has not been resolved. Such a path is down by
    /// [`DownReason::Interface`] as well.
    Unresolved,
    /// Its interface or its local address is gone.
    Interface,
    /// The other end has not proved yet that it hears us on it.
    Unproven,
    /// The other end hears us on it no longer.
    Dead,
    /// The other end asked us not to send on it.
    Peer,
    /// It has carried as much as it may for now.
    Cap,
}

impl DownReason {
    /// All of them. If a path has several, the first of these is the one to name: as long as it
    /// holds, the others make no difference.
    pub const ALL: [DownReason; 7] = [
        DownReason::Administrative,
        DownReason::Cap,
        DownReason::Unresolved,
        DownReason::Interface,
        DownReason::Peer,
        DownReason::Dead,
        DownReason::Unproven,
    ];
}

/// A set of [`DownReason`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DownReasons(u8);

impl DownReasons {
    /// No reason: the path is up.
    pub const NONE: DownReasons = DownReasons(0);

    /// True if the path is up.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if this reason is among them.
    pub fn contains(self, reason: DownReason) -> bool {
        self.0 & Self::bit(reason) != 0
    }

    /// The reason to name, see [`DownReason::ALL`]; `None` while the path is up.
    pub fn first(self) -> Option<DownReason> {
        DownReason::ALL.into_iter().find(|&reason| self.contains(reason))
    }

    /// Returns the reasons with one added or taken away.
    #[must_use]
    pub fn with(self, reason: DownReason, present: bool) -> Self {
        let bit = Self::bit(reason);
        Self(if present { self.0 | bit } else { self.0 & !bit })
    }

    fn bit(reason: DownReason) -> u8 {
        match reason {
            DownReason::Administrative => 1,
            DownReason::Interface => 2,
            DownReason::Unproven => 4,
            DownReason::Dead => 8,
            DownReason::Peer => 16,
            DownReason::Unresolved => 32,
            DownReason::Cap => 64,
        }
    }
}

/// A path of a connection.
///
/// The fields keep the order of their declaration, on one cache line of their own except for the
/// configuration. With thousands of paths in use, the cost of a packet is the lines that it
/// touches.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Path {
    pub(crate) sent: Traffic,
    pub(crate) received: Traffic,
    pub(crate) connection: ConnectionId,
    pub(crate) slot: u16,
    pub(crate) heard_port: Option<NonZeroU16>,
    pub(crate) down: DownReasons,
    /// True if nothing arrives on it any more, according to its control session.
    pub(crate) silent: bool,
    /// The peer announced that it gives it none of its packets.
    pub(crate) unused: bool,
    /// The configured economy of the path.
    pub(crate) economy: Economy,
    /// The economy that the peer asks for.
    pub(crate) economy_of_peer: Economy,
    /// The largest outer packet that is known to pass, where that is less than the link's MTU.
    pub(crate) known_mtu: Option<NonZeroU16>,
    pub(crate) config: Box<PathConfig>,
}

impl Path {
    pub(crate) fn new(connection: ConnectionId, slot: usize, config: PathConfig) -> Self {
        Self {
            sent: Traffic::default(),
            received: Traffic::default(),
            connection,
            slot: slot as u16,
            heard_port: None,
            down: DownReasons::default().with(DownReason::Administrative, !config.up),
            silent: false,
            unused: false,
            economy: Economy::NONE,
            economy_of_peer: Economy::NONE,
            known_mtu: None,
            config: Box::new(config),
        }
    }

    /// The connection it belongs to.
    pub fn connection(&self) -> ConnectionId {
        self.connection
    }

    /// Unique within its connection.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Returns what it was configured to be, with all changes since.
    pub fn config(&self) -> &PathConfig {
        &self.config
    }

    /// Path MTU in bytes of the outer IP packet: that of the link, or less where less is known to
    /// pass.
    pub fn mtu(&self) -> u16 {
        let link = self.config.mtu;
        match self.known_mtu {
            None => link,
            Some(known) => link.min(known.get().max(mtu::minimum(self.config.outer()))),
        }
    }

    /// Returns where its packets go, while that is known.
    pub fn remote(&self) -> Option<SocketAddr> {
        self.config.remote.address()
    }

    /// True if it carries data when its tier's turn has come.
    pub fn is_up(&self) -> bool {
        self.down.is_empty()
    }

    /// Returns how sparingly it is to be used, as the owner of this end says.
    pub fn economy(&self) -> Economy {
        self.economy
    }

    /// Returns how sparingly it is used: as either end says.
    pub fn economy_of_both(&self) -> Economy {
        self.economy.with(self.economy_of_peer)
    }

    /// Its tier, and where it is a last resort, one that comes after all others.
    pub(crate) fn effective_tier(&self) -> u16 {
        let last_resort = self.economy_of_both().contains(Economy::LAST_RESORT);
        u16::from(self.config.tier) + if last_resort { AFTER_ALL_TIERS } else { 0 }
    }

    /// True if packets of the peer can arrive on it. That we do not send on it is our decision alone:
    /// the peer may go on, and its numbers are waited for as before. (Unless it announced that it
    /// does not.)
    pub fn is_heard(&self) -> bool {
        !self.down.contains(DownReason::Interface) && !self.silent
    }

    /// True if its session says that nothing arrives on it.
    pub fn is_silent(&self) -> bool {
        self.silent
    }

    /// Returns the reasons for which it is down.
    pub fn down_reasons(&self) -> DownReasons {
        self.down
    }

    /// Given to this path for sending.
    pub fn sent(&self) -> Traffic {
        self.sent
    }

    /// Source of the last packet accepted: the remote address, and the port it came from.
    pub fn heard_from(&self) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.remote()?.ip(), self.heard_port?.get()))
    }

    /// Accepted from this path.
    pub fn received(&self) -> Traffic {
        self.received
    }
}

/// The paths of all connections.
pub(crate) type Paths = Registry<PathId, Path>;
