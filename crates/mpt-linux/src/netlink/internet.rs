//! A default route into a tunnel, which leaves all other routes as they are.
//!
//! ```text
//! 32764: not from all fwmark MARK lookup main suppress_prefixlength 0
//! 32765: not from all fwmark MARK lookup TABLE
//! table TABLE: default dev DEVICE
//! ```
//!
//! So everything that only a default route of the main table would lead out goes into the tunnel,
//! except what carries our mark: the tunnel's own outer packets take the main table's default route,
//! whatever becomes of it. This is how wg-quick(8) does it. When the daemon is killed the device is
//! gone and the table is empty, so that the rules have no effect.

use std::net::IpAddr;

use super::uplink::default;
use super::{MAIN_TABLE, Route, Rule, TUNNEL_RULE_PRIORITY};

/// A default route into a tunnel, for one IP version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Internet {
    /// Index of the tunnel's device.
    pub interface: u32,
    /// Source address of packets whose sender chose none.
    pub source: Option<IpAddr>,
    /// Whether for IPv6.
    pub ipv6: bool,
}

impl Internet {
    /// In the order in which the kernel tries them.
    pub(super) fn rules(&self, mark: u32, table: u32) -> [Rule; 2] {
        let rule = |priority, table| Rule {
            inverted: true,
            mark: Some(mark),
            ..Rule::all(priority, table, self.ipv6)
        };
        let specific =
            Rule { suppress_prefix_length: Some(0), ..rule(TUNNEL_RULE_PRIORITY - 1, MAIN_TABLE) };
        [specific, rule(TUNNEL_RULE_PRIORITY, table)]
    }

    pub(super) fn route(&self, table: u32) -> Route {
        let route = Route::out_of(self.interface, default(self.ipv6));
        Route { table, source: self.source, ..route }
    }
}
