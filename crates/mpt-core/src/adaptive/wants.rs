//! The demands of a packet on its path.

use mpt_wire::gre;

use super::tag::{Queued, Way};
use crate::queue::Head;

/// The demands of a packet on its path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wants {
    /// The path carries IPv6.
    pub(crate) ipv6: bool,
    pub(crate) way: Way,
    /// It need not have credit.
    pub(crate) sparse: bool,
}

impl Wants {
    /// Returns the demands of the first packet of the queue.
    #[inline]
    pub(super) fn of(head: &Head<Queued>) -> Self {
        let tag = &head.tag.tag;
        let ipv6 = tag.protocol == gre::Protocol::IPV6;
        Self { ipv6, way: tag.way, sparse: head.sparse }
    }
}
