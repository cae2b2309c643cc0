//! Routing of outer packets whose socket is bound to an interface.
//!
//! Two uplinks may have the same address and the same router, so only the interface tells them
//! apart. Packets that carry our mark and come from a socket bound to the interface look into a
//! table with the interface's own default route, wherever that stands, or whatever other route
//! comes first:
//!
//! ```text
//! 4753: from all fwmark MARK oif INTERFACE lookup main suppress_prefixlength 0
//! 4754: from all fwmark MARK oif INTERFACE lookup TABLE
//! table TABLE: default via GATEWAY dev INTERFACE
//!              unreachable default metric 4294967295
//! ```
//!
//! The kernel by itself looks for a route by the interface, too, but takes every destination for a
//! neighbour where the main table has none: where the second uplink's default route is refused
//! since there is one already, or stands in a table of the DHCP client.

use std::cmp::Reverse;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::netlink::numbers::blocks::NUMBERS;
use crate::netlink::{Error, MAIN_TABLE, Netlink, PATH_RULE_PRIORITY, Route, Rule, Via};

/// An interface to which sockets are bound, for one IP version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Uplink {
    /// Its name. It need not exist yet.
    pub interface: String,
    /// True if for IPv6.
    pub ipv6: bool,
}

impl Uplink {
    /// Returns the rules in the order in which the kernel tries them.
    pub(in crate::netlink) fn rules(&self, mark: u32, table: u32) -> [Rule; 2] {
        let rule = |priority, table| Rule {
            mark: Some(mark),
            output: Some(self.interface.clone()),
            ..Rule::all(priority, table, self.ipv6)
        };
        let specific =
            Rule { suppress_prefix_length: Some(0), ..rule(PATH_RULE_PRIORITY - 1, MAIN_TABLE) };
        [specific, rule(PATH_RULE_PRIORITY, table)]
    }

    /// Returns what stands in `table` apart from the route: no later rule is asked. IPv6 packets fail then;
    /// of an IPv4 destination the kernel assumes that it is a neighbour, as of every one to which a
    /// bound socket has no route.
    pub(super) fn fallback(&self, table: u32) -> Route {
        Route::last_resort(table, default(self.ipv6))
    }

    /// The interface's default route for `table`, as things are now: that of the main table, else
    /// that of any other. On a point-to-point interface everything is at the other end.
    /// [`Error::NoDefault`] where there is none.
    pub(in crate::netlink) async fn route(
        &self,
        netlink: &Netlink,
        table: u32,
    ) -> Result<Route, Error> {
        let link = netlink.link(&self.interface).await?;
        let destination = default(self.ipv6);
        let routes = netlink.routes_by(link.index, self.ipv6).await?;
        let found = routes
            .into_iter()
            .filter(|route| route.destination == destination && !NUMBERS.contains(&route.table))
            .min_by_key(|route| {
                (route.table != MAIN_TABLE, route.metric.unwrap_or(0), Reverse(route.table))
            });
        let via = match found.as_ref().map(|route| &route.via) {
            // It was found to be a neighbour where the route comes from; here no route says so.
            Some(Via::Interface { index, gateway: gateway @ Some(_), .. }) => {
                Via::Interface { index: *index, gateway: *gateway, onlink: true }
            }
            Some(via) => via.clone(),
            None if link.point_to_point => Via::interface(link.index),
            None => {
                let interface = self.interface.clone();
                return Err(Error::NoDefault { interface, ipv6: self.ipv6 });
            }
        };
        let (mtu, source) = found.map_or((None, None), |route| (route.mtu, route.source));
        Ok(Route { destination, via, table, metric: None, mtu, source })
    }
}

/// The network of everything.
pub(in crate::netlink) fn default(ipv6: bool) -> IpNet {
    let any: IpAddr =
        if ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    IpNet::new_assert(any, 0)
}
