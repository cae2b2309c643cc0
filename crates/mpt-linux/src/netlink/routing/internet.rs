//! A default route into a tunnel, which leaves all other routes as they are.
//!
//! ```text
//! 32763: not from all fwmark MARK lookup main suppress_prefixlength 0
//! 32764: not from all fwmark MARK lookup TABLE
//! 32765: not from all fwmark MARK unreachable           (a block)
//! table TABLE: default dev DEVICE
//!              unreachable default metric 4294967295    (a block)
//! ```
//!
//! Everything that only a default route of the main table would lead out goes into the tunnel,
//! except what carries our mark: the tunnel's own outer packets take the main table's default route,
//! whatever becomes of it. This is how wg-quick(8) does it.
//!
//! A block lets nothing reach the main table's default route that is meant for the tunnel. Its rule
//! holds while the others or the table are removed and put back, its route while the rule is. It
//! needs no device, so it also holds after the daemon was killed. Without a block the rules have no
//! effect then, since the table is empty.

use std::net::IpAddr;

use super::uplink::default;
use crate::netlink::{Route, Rule, TUNNEL_RULE_PRIORITY};

/// A default route into a tunnel, for one IP version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Internet {
    /// Index of the tunnel's device.
    pub interface: u32,
    /// Source address of packets whose sender chose none.
    pub source: Option<IpAddr>,
    /// True if for IPv6.
    pub ipv6: bool,
    /// True if what the device cannot take goes nowhere. [`crate::netlink::Owned::add_block`] adds the rule.
    pub blocks: bool,
}

impl Internet {
    /// Returns the rules in the order in which the kernel tries them.
    pub(in crate::netlink) fn rules(&self, mark: u32, table: u32) -> [Rule; 2] {
        let into_tunnel = Rule {
            inverted: true,
            mark: Some(mark),
            ..Rule::all(TUNNEL_RULE_PRIORITY, table, self.ipv6)
        };
        [Rule::pass(mark, self.ipv6), into_tunnel]
    }

    /// Returns what stands in `table` apart from the route: nothing leaves by another interface.
    pub(super) fn fallback(&self, table: u32) -> Option<Route> {
        self.blocks.then(|| Route::last_resort(table, default(self.ipv6)))
    }

    pub(in crate::netlink) fn route(&self, table: u32) -> Route {
        let route = Route::out_of(self.interface, default(self.ipv6));
        Route { table, source: self.source, ..route }
    }
}
