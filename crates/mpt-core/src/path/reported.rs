//! Path MTUs that ICMP reported, on paths without a session: believed for a while, since nobody says that a path carries more again.

use std::time::{Duration, Instant};

use super::mtu;
use crate::{DeviceId, PathId, Tunnels};

/// The time for which a reported MTU is believed. Then larger packets are tried again (RFC 1191,
/// section 6.3).
pub const BELIEVED_FOR: Duration = Duration::from_secs(600);

/// The MTU that ICMP has reported of one path, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    until: Option<Instant>,
}

/// A path has another MTU than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path MTU before, in bytes of the outer packet.
    pub before: u16,
    /// The device and its new inner MTU, if that has changed.
    pub device: Option<(DeviceId, u16)>,
}

impl Reported {
    /// True if a reported MTU counts.
    pub fn is_some(&self) -> bool {
        self.until.is_some()
    }

    /// The time for which the reported MTU still counts.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        Some(self.until?.saturating_duration_since(now))
    }

    /// See [`Node::believe_path_mtu`](crate::Node::believe_path_mtu).
    pub(crate) fn believe<P: Copy>(
        &mut self,
        now: Instant,
        tunnels: &mut Tunnels<P>,
        path: PathId,
        mtu: u16,
    ) -> Option<Change> {
        let known = tunnels.path(path)?;
        let before = known.mtu();
        if mtu < mtu::minimum(known.config().outer()) || mtu >= before {
            return None;
        }
        self.until = Some(now + BELIEVED_FOR);
        Some(Change { before, device: tunnels.limit_path_mtu(path, Some(mtu)) })
    }

    /// See [`Node::forget_path_mtu`](crate::Node::forget_path_mtu).
    pub(crate) fn forget<P: Copy>(
        &mut self,
        tunnels: &mut Tunnels<P>,
        path: PathId,
    ) -> Option<Change> {
        self.until.take()?;
        let before = tunnels.path(path)?.mtu();
        Some(Change { before, device: tunnels.limit_path_mtu(path, None) })
    }

    /// See [`Node::expire_path_mtu`](crate::Node::expire_path_mtu).
    pub(crate) fn expire<P: Copy>(
        &mut self,
        now: Instant,
        tunnels: &mut Tunnels<P>,
        path: PathId,
    ) -> Option<Change> {
        if self.until? > now {
            return None;
        }
        self.forget(tunnels, path)
    }
}
