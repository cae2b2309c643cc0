//! What the daemon makes in the system by netlink: addresses, MTUs, routes, and the routing of outer packets.

use std::collections::HashSet;
use std::net::IpAddr;

use ipnet::IpNet;
use mpt_linux::netlink::{Error, LinkInfo, Netlink, Owned, PathRouting, Query, Route, Rule};
use mpt_linux::udp::{MAX_BATCH_BYTES, MAX_BATCH_DATAGRAMS};
use mpt_wire::gre;

use super::links::Links;
use crate::config::{Config, Connection, Path};

/// Everything made, and the way to remove exactly that.
pub(super) struct System {
    owned: Owned,
    addresses: HashSet<(String, IpNet)>,
    routes: HashSet<TunnelRoute>,
    paths: HashSet<PathRouting>,
    /// Paths whose routing the system refused, which has been logged.
    refused: HashSet<PathRouting>,
}

/// What a configuration needs of the system, besides the routing of its paths.
#[derive(Default)]
struct Needs {
    /// In the order of the configuration: the first of a network is the source address of most packets.
    addresses: Vec<(String, IpNet)>,
    routes: HashSet<TunnelRoute>,
}

/// A route into the tunnel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TunnelRoute {
    device: String,
    net: IpNet,
    /// Address of packets whose sender chose none.
    source: Option<IpAddr>,
}

impl System {
    pub(super) fn connect() -> Result<Self, Error> {
        Ok(Self {
            owned: Owned::new(Netlink::connect()?),
            addresses: HashSet::new(),
            routes: HashSet::new(),
            paths: HashSet::new(),
            refused: HashSet::new(),
        })
    }

    pub(super) fn netlink(&self) -> &Netlink {
        self.owned.netlink()
    }

    /// Makes the system what `config` needs; what it needs no longer is removed first.
    pub(super) async fn apply(&mut self, config: &Config, links: &Links) -> Result<(), Error> {
        let needs = needs(config);
        for route in difference(&self.routes, &needs.routes) {
            if let Some(link) = self.find(&route.device).await? {
                self.owned.remove_route(&route.out_of(link.index)).await?;
            }
            self.routes.remove(&route);
        }
        let gone = self.addresses.iter().filter(|it| !needs.addresses.contains(it));
        for (device, net) in gone.cloned().collect::<Vec<_>>() {
            if let Some(link) = self.find(&device).await? {
                self.owned.remove_address(link.index, net).await?;
            }
            self.addresses.remove(&(device, net));
        }
        for (device, net) in needs.addresses {
            if self.addresses.contains(&(device.clone(), net)) {
                continue;
            }
            let link = self.netlink().link(&device).await?;
            self.owned.add_address(link.index, net).await?;
            self.addresses.insert((device, net));
        }
        for device in &config.devices {
            let link = self.netlink().link(&device.name).await?;
            if !link.up {
                self.netlink().set_up(link.index).await?;
            }
        }
        for route in difference(&needs.routes, &self.routes) {
            let link = self.netlink().link(&route.device).await?;
            self.owned.add_route(route.out_of(link.index)).await?;
            self.routes.insert(route);
        }
        // Last, since a route into the tunnel may lead the outer packets there as well.
        self.route_paths(config, links).await.map_err(|(_, error)| error)
    }

    /// Gives every path the routing it needs as things are now, and takes away what none needs. Gives the first that the system refused.
    async fn route_paths(
        &mut self,
        config: &Config,
        links: &Links,
    ) -> Result<(), (PathRouting, Error)> {
        let paths = config.connections.iter().flat_map(|connection| &connection.paths);
        let candidates: HashSet<_> = paths.filter_map(|path| self.candidate(path, links)).collect();
        for routing in difference(&self.paths, &candidates) {
            match self.owned.remove_path(&routing).await {
                Ok(()) => self.paths.remove(&routing),
                Err(error) => return Err((routing, error)),
            };
        }
        let mut first = Ok(());
        for routing in difference(&candidates, &self.paths) {
            let done = match self.is_needed(&routing, links).await {
                Ok(true) => self.owned.add_path(routing.clone()).await.map(|()| true),
                other => other,
            };
            match done {
                Ok(true) => {
                    self.refused.remove(&routing);
                    self.paths.insert(routing);
                }
                Ok(false) => {}
                Err(error) => first = first.and(Err((routing, error))),
            }
        }
        first
    }

    /// Sets a device's MTU, and lets no super-packet of the kernel have more segments than one UDP batch can carry: a batch more for the
    /// last two of 46 would cost a fifth of the system calls.
    pub(super) async fn set_mtu(&self, device: &str, mtu: u16) -> Result<(), Error> {
        let link = self.netlink().link(device).await?;
        if link.mtu != u32::from(mtu) {
            self.netlink().set_mtu(link.index, mtu.into()).await?;
        }
        let datagram = usize::from(mtu) + gre::MAX_HEADER_LEN;
        let segments = (MAX_BATCH_BYTES / datagram).clamp(1, MAX_BATCH_DATAGRAMS);
        if let Err(error) = self.netlink().set_gso_max_segs(link.index, segments as u32).await {
            tracing::info!(%error, "super-packets as large as the kernel likes: a little slower");
        }
        Ok(())
    }

    /// Brings path routing up to date after interfaces or routes changed.
    pub(super) async fn refresh(&mut self, config: &Config, links: &Links) {
        if let Err((routing, error)) = self.route_paths(config, links).await
            && self.refused.insert(routing)
        {
            tracing::warn!(%error, "routing of a path not up to date");
        }
        if let Err(errors) = self.owned.refresh_paths().await {
            for error in errors {
                tracing::warn!(%error, "routing of a path not up to date");
            }
        }
    }

    pub(super) async fn remove_all(&mut self) {
        if let Err(errors) = self.owned.remove_all().await {
            for error in errors {
                tracing::warn!(%error, "could not be removed");
            }
        }
    }

    async fn find(&self, device: &str) -> Result<Option<LinkInfo>, Error> {
        if !self.netlink().link_exists(device).await? {
            return Ok(None);
        }
        self.netlink().link(device).await.map(Some)
    }

    /// The routing that would send a path's packets out of the interface that has its local address.
    fn candidate(&self, path: &Path, links: &Links) -> Option<PathRouting> {
        let local = path.local?;
        let present = || self.paths.iter().find(|it| (it.local, it.remote) == (local, path.remote));
        let Some(link) = links.of(path) else {
            // The interface or its address is away; the path fails meanwhile, instead of leaving by another one.
            return present().cloned();
        };
        Some(PathRouting {
            local,
            remote: path.remote,
            interface: link.name.clone(),
            gateway: None,
        })
    }

    /// Whether the routing table by itself would send the packets elsewhere.
    async fn is_needed(&self, routing: &PathRouting, links: &Links) -> Result<bool, Error> {
        let Some(link) = links.named(&routing.interface).filter(|link| link.up) else {
            return Ok(false);
        };
        // A daemon that was killed has left its rule behind, which becomes ours: it would make the look-up look right.
        let rules = self.netlink().own_rules().await?;
        if rules.iter().any(|rule: &Rule| routing.matches(rule)) {
            return Ok(true);
        }
        let query = Query { source: Some(routing.local), ..Query::to(routing.remote) };
        // Without any route there is nothing a rule could choose.
        let found = self.netlink().lookup(query).await;
        Ok(found.is_ok_and(|found| found.interface != link.index))
    }
}

fn needs(config: &Config) -> Needs {
    let mut needs = Needs::default();
    for device in &config.devices {
        needs.addresses.extend(device.addresses.iter().map(|net| (device.name.clone(), *net)));
    }
    for connection in &config.connections {
        let device = config.device(&connection.device);
        let own = device.map_or(&[][..], |device| &device.addresses);
        for route in routes(connection, own) {
            // Connections may share a network; it is routed once.
            let same = |it: &TunnelRoute| (&it.device, it.net) == (&route.device, route.net);
            if !needs.routes.iter().any(same) {
                needs.routes.insert(route);
            }
        }
    }
    needs
}

/// Routes to what is behind the other end. The network of the device's own address has its route from the kernel.
fn routes<'a>(
    connection: &'a Connection,
    own: &'a [IpNet],
) -> impl Iterator<Item = TunnelRoute> + 'a {
    let wanted = connection.routes && connection.direction.sends();
    let networks = connection.networks.iter().filter(move |_| wanted);
    let covered = |net: &IpNet| own.iter().any(|own| own.trunc() == *net);
    networks.filter(move |net| !covered(net) && !is_link_local(net)).map(|net| TunnelRoute {
        device: connection.device.clone(),
        net: *net,
        source: source(connection, own, net),
    })
}

/// Of several addresses of a device, the one in whose network the destination is, or else the other end: this is the one the other end knows as
/// ours. `None` leaves the choice to the kernel.
fn source(connection: &Connection, own: &[IpNet], net: &IpNet) -> Option<IpAddr> {
    let beside = |net: &IpNet| own.iter().find(|own| own.contains(net)).map(IpNet::addr);
    let same_version = |other: &&IpNet| other.addr().is_ipv4() == net.addr().is_ipv4();
    beside(net).or_else(|| connection.networks.iter().filter(same_version).find_map(beside))
}

impl TunnelRoute {
    fn out_of(&self, interface: u32) -> Route {
        Route { source: self.source, ..Route::out_of(interface, self.net) }
    }
}

/// Link-local networks are routed by the kernel on every interface.
fn is_link_local(net: &IpNet) -> bool {
    match net.addr() {
        IpAddr::V4(address) => address.is_link_local() || address.is_multicast(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address.is_multicast(),
    }
}

fn difference<T: Clone + Eq + std::hash::Hash>(one: &HashSet<T>, other: &HashSet<T>) -> Vec<T> {
    one.difference(other).cloned().collect()
}
