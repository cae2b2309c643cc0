//! ICMP errors from outside a connection's networks: which of them pass its ingress filter.
//!
//! A router on the way to the peer's networks may have any address, and traceroute and path MTU
//! discovery need what it reports. The source address of such a report proves nothing, so the
//! report itself has to be one that a router could have sent about a packet of ours, and there are
//! no more of them than a host can have caused.

use std::time::{Duration, Instant};

use mpt_wire::{icmp, ip};

use crate::session::bucket::Bucket;
use crate::tunnel::filter::Sources;

/// ICMP errors from outside that a connection delivers per second.
pub(crate) const PER_SECOND: u32 = 100;
/// ICMP errors from outside that a connection delivers at once after a pause: a traceroute with
/// three probes for each of 30 hops.
pub(crate) const AT_ONCE: u32 = 100;

const INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / PER_SECOND as u64);

/// Returns true if an inner packet with a foreign source is an ICMP error that may pass: it reports
/// a packet as not delivered, it is no longer than a router makes it, and the packet that it quotes
/// was sent by the host that the error goes to, into one of the connection's networks.
pub(crate) fn passes(inner: &[u8], summary: &ip::Summary, networks: &Sources) -> bool {
    icmp::is_delivery_failure(inner, summary)
        && summary.total_len <= icmp::max_error_len(summary.version)
        && icmp::Quoted::parse(inner, summary).is_some_and(|quoted| {
            quoted.summary.source == summary.destination
                && networks.contains(quoted.summary.destination)
        })
}

/// The rate at which ICMP errors from outside pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rate(Bucket);

impl Rate {
    /// Takes a token, if there is one.
    pub(crate) fn admit(&mut self, now: Instant) -> bool {
        self.0.take(now, INTERVAL, AT_ONCE)
    }
}
