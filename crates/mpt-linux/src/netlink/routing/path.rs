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

use ipnet::IpNet;

use crate::netlink::{Error, Netlink, Route, Via};

/// The route of a path's outer packets.
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
    /// Returns what stands in `table` apart from the route: nothing leaves by another interface.
    pub(super) fn fallback(&self, table: u32) -> Route {
        Route::last_resort(table, self.remote.into())
    }

    /// The route for `table`, as things are now.
    pub(in crate::netlink) async fn route(
        &self,
        netlink: &Netlink,
        table: u32,
    ) -> Result<Route, Error> {
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
}
