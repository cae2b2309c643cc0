//! Routing of the outer packets of one path.
//!
//! Several paths may share one remote address, so a host route towards it cannot tell them apart.
//! Instead each pair of local and remote address has a policy rule, and a table with the one route
//! by which the path's packets leave:
//!
//! ```text
//! 4754: from LOCAL to REMOTE lookup TABLE
//! table TABLE: REMOTE via GATEWAY dev INTERFACE src LOCAL
//!              unreachable REMOTE metric 4294967295
//! ```
//!
//! While the interface is down the first route is gone and the second remains: the path fails
//! instead of leaving by the interface of another one, which no figure of ours could then explain.

use std::net::IpAddr;
use std::ops::Range;

use ipnet::IpNet;

use super::{Error, Netlink, PATH_RULE_PRIORITY, Route, Rule, Via};

/// Numbers of the tables of paths ("mp" and a counter). Nobody numbers tables by hand up here.
pub const PATH_TABLES: Range<u32> = 0x6d70_0000..0x6d71_0000;

/// Which way the outer packets of a path go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathRouting {
    /// Local address of the path.
    pub local: IpAddr,
    /// Remote address of the path.
    pub remote: IpAddr,
    /// Name of the interface its packets leave by.
    pub interface: String,
    /// The router behind that interface. `None`: as the best route of the main table towards the
    /// remote address that leaves by this interface says.
    pub gateway: Option<IpAddr>,
}

impl PathRouting {
    /// What stands in `table` apart from the route: nothing leaves by another interface.
    pub(super) fn fallback(&self, table: u32) -> Route {
        Route {
            destination: self.remote.into(),
            via: Via::Unreachable,
            table,
            metric: Some(u32::MAX),
            mtu: None,
            source: None,
        }
    }

    /// Whether `rule` is the one this path needs, whatever its table.
    pub fn matches(&self, rule: &Rule) -> bool {
        rule.priority == PATH_RULE_PRIORITY
            && *rule == Rule::between(self.local, self.remote, rule.table)
    }

    /// The route for `table`, as things are now.
    pub(super) async fn route(&self, netlink: &Netlink, table: u32) -> Result<Route, Error> {
        let index = netlink.link(&self.interface).await?.index;
        let (via, mtu) = match self.gateway {
            Some(gateway) => {
                (Via::Interface { index, gateway: Some(gateway), onlink: false }, None)
            }
            None => {
                let found = netlink.route_by(self.remote, index).await?;
                let found = found.ok_or_else(|| Error::NoRoute {
                    remote: self.remote,
                    interface: self.interface.clone(),
                })?;
                (found.via, found.mtu)
            }
        };
        let destination: IpNet = self.remote.into();
        Ok(Route { destination, via, table, metric: None, mtu, source: Some(self.local) })
    }

    /// Chooses the table: that of a rule for the same addresses left over by a daemon that was
    /// killed, else a free one.
    pub(super) async fn choose_table(&self, netlink: &Netlink) -> Result<(u32, Leftover), Error> {
        let rules = netlink.own_rules().await?;
        if let Some(rule) = rules.iter().find(|rule| self.matches(rule)) {
            return Ok((rule.table, Leftover::Rule));
        }
        let routes = netlink.own_routes().await?;
        let taken = |table: u32| {
            rules.iter().any(|rule| rule.table == table)
                || routes.iter().any(|route| route.table == table)
        };
        // There are fewer objects than tables in the range, unless somebody is joking.
        let free = PATH_TABLES.into_iter().find(|&table| !taken(table));
        Ok((free.unwrap_or(PATH_TABLES.start), Leftover::Nothing))
    }
}

/// What an earlier daemon left behind for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leftover {
    Nothing,
    Rule,
}
