//! The checks of datagrams that arrive for a connection.

use std::time::Instant;

use mpt_wire::ip;

use super::Connection;
use crate::path::Path;
use crate::tunnel::filter::{foreign, scope};
use crate::tunnel::{DatagramDrop, Received};

impl<P: Copy> Connection<P> {
    /// Says whether datagrams are received at all.
    #[inline]
    pub(crate) fn admit(&self) -> Result<(), DatagramDrop> {
        match (self.direction.receives(), self.barred) {
            (false, _) => Err(DatagramDrop::Direction),
            (true, true) => Err(DatagramDrop::Barred),
            (true, false) => Ok(()),
        }
    }

    /// Returns what a datagram is that is no complete IP packet, and begins at `payload`.
    #[cold]
    pub(super) fn not_ip(
        &self,
        inner: &[u8],
        path: &Path,
        payload: usize,
    ) -> Result<Received, DatagramDrop> {
        let version = inner.first().map_or(4, |first| first >> 4);
        match self.path_in(path.slot.into()) {
            Some(id) if self.config.loose && !matches!(version, 4 | 6) => {
                Ok(Received::Message(id, payload))
            }
            _ => Err(DatagramDrop::Malformed),
        }
    }

    /// Applies the ingress filter: inner sources have to be those of the connection's networks.
    /// Returns true for an ICMP error from outside of them that may pass, see [`foreign`].
    // Inlined, since `summary` was written just before in other pieces than this reads.
    #[inline(always)]
    pub(super) fn check_source(
        &self,
        summary: &ip::Summary,
        inner: &[u8],
    ) -> Result<bool, DatagramDrop> {
        match scope::stays_on_link(summary) || !self.sources.contains(summary.source) {
            true => self.check_unusual_source(summary, inner),
            false => Ok(false),
        }
    }

    /// The filter for what stays on its link, or comes from outside.
    #[cold]
    fn check_unusual_source(
        &self,
        summary: &ip::Summary,
        inner: &[u8],
    ) -> Result<bool, DatagramDrop> {
        if scope::stays_on_link(summary) {
            if !self.config.multicast {
                return Err(DatagramDrop::Multicast);
            }
            if scope::is_link_source(summary.source) {
                return Ok(false);
            }
        }
        if self.sources.contains(summary.source) {
            return Ok(false);
        }
        match foreign::passes(inner, summary, &self.sources) {
            true => Ok(true),
            false => Err(DatagramDrop::ForeignSource),
        }
    }

    /// Counts an ICMP error from outside: whether it is delivered.
    #[cold]
    pub(super) fn admit_foreign_error(&mut self, now: Instant) -> bool {
        let admitted = self.tally.foreign_errors.admit(now);
        match admitted {
            true => self.tally.remarks.icmp_from_outside += 1,
            false => self.tally.datagram_drops.icmp_limited += 1,
        }
        admitted
    }
}
