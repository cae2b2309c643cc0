//! The networks that lead into devices, and those of them that are guarded.

use std::collections::HashSet;
use std::net::IpAddr;

use ipnet::IpNet;

use super::{Config, Connection, Fallback};

impl Connection {
    /// The networks that it leads into its device, default routes included.
    pub(crate) fn routed_networks(&self) -> impl Iterator<Item = &IpNet> {
        let routed = self.routes && self.direction.sends();
        self.networks.iter().filter(move |_| routed)
    }

    /// The default routes (0.0.0.0/0 and ::/0) that it leads into its device.
    pub fn default_routes(&self) -> impl Iterator<Item = &IpNet> {
        self.routed_networks().filter(|network| network.prefix_len() == 0)
    }
}

impl Config {
    /// Says whether a default route of this family leads into a tunnel.
    #[must_use]
    pub fn takes_internet(&self, ipv6: bool) -> bool {
        let mut routes = self.connections.iter().flat_map(Connection::default_routes);
        routes.any(|net| net.addr().is_ipv6() == ipv6)
    }

    /// Returns the paths that are bound to an interface: its name, the local address if the file has one, and the remote one.
    /// Paths whose remote address is not known are left out.
    pub fn bound_paths(&self) -> impl Iterator<Item = (&str, Option<IpAddr>, IpAddr)> {
        let paths = self.connections.iter().flat_map(|it| &it.paths);
        paths.filter_map(|path| {
            Some((path.interface.as_deref()?, path.local, path.remote.address()?))
        })
    }

    /// The networks whose packets go nowhere while their route into the tunnel is missing, instead of taking a less specific one.
    ///
    /// A default route has a guard of another kind, and a link-local network is the kernel's business. An IPv4 network in which a path's remote
    /// address lies has none if the path is bound to an interface: the kernel finds the guard for such a socket where it passes over the route
    /// into the tunnel, and would then take the peer for a neighbour.
    #[must_use]
    pub fn guarded_networks(&self) -> HashSet<IpNet> {
        let remotes = self.bound_paths().map(|(_, _, remote)| remote);
        let remotes: Vec<IpAddr> = remotes.filter(IpAddr::is_ipv4).collect();
        let blocks = self.connections.iter().filter(|it| it.fallback == Fallback::Block);
        let networks = blocks.flat_map(Connection::routed_networks).map(IpNet::trunc);
        networks
            .filter(|network| network.prefix_len() > 0 && !is_link_local(network))
            .filter(|network| !remotes.iter().any(|remote| network.contains(remote)))
            .collect()
    }
}

/// True if the kernel routes a network on every interface.
#[must_use]
pub fn is_link_local(network: &IpNet) -> bool {
    match network.addr() {
        IpAddr::V4(address) => address.is_link_local() || address.is_multicast(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address.is_multicast(),
    }
}
