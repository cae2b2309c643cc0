//! What the daemon makes in the system by netlink: addresses, MTUs, routes, and the routing of outer packets.

use std::collections::HashSet;
use std::net::IpAddr;

use ipnet::IpNet;
use mpt_linux::netlink::{Error, LinkInfo, Netlink, Owned, PathRouting, Query, Route};

use super::links::Links;
use crate::config::{Config, Connection, Path};

/// Everything made, and the way to remove exactly that.
pub(super) struct System {
    owned: Owned,
    addresses: HashSet<(String, IpNet)>,
    routes: HashSet<(String, IpNet)>,
    paths: HashSet<PathRouting>,
}

/// What a configuration needs of the system.
#[derive(Default)]
struct Needs {
    addresses: HashSet<(String, IpNet)>,
    routes: HashSet<(String, IpNet)>,
    paths: HashSet<PathRouting>,
}

impl System {
    pub(super) fn connect() -> Result<Self, Error> {
        Ok(Self {
            owned: Owned::new(Netlink::connect()?),
            addresses: HashSet::new(),
            routes: HashSet::new(),
            paths: HashSet::new(),
        })
    }

    pub(super) fn netlink(&self) -> &Netlink {
        self.owned.netlink()
    }

    /// Makes the system what `config` needs; what it needs no longer is removed first.
    pub(super) async fn apply(&mut self, config: &Config, links: &Links) -> Result<(), Error> {
        let needs = self.needs(config, links).await?;
        for (device, net) in difference(&self.routes, &needs.routes) {
            if let Some(link) = self.find(&device).await? {
                self.owned.remove_route(&Route::out_of(link.index, net)).await?;
            }
            self.routes.remove(&(device, net));
        }
        for routing in difference(&self.paths, &needs.paths) {
            self.owned.remove_path(&routing).await?;
            self.paths.remove(&routing);
        }
        for (device, net) in difference(&self.addresses, &needs.addresses) {
            if let Some(link) = self.find(&device).await? {
                self.owned.remove_address(link.index, net).await?;
            }
            self.addresses.remove(&(device, net));
        }
        for (device, net) in difference(&needs.addresses, &self.addresses) {
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
        for routing in difference(&needs.paths, &self.paths) {
            self.owned.add_path(routing.clone()).await?;
            self.paths.insert(routing);
        }
        for (device, net) in difference(&needs.routes, &self.routes) {
            let link = self.netlink().link(&device).await?;
            self.owned.add_route(Route::out_of(link.index, net)).await?;
            self.routes.insert((device, net));
        }
        Ok(())
    }

    /// Sets a device's MTU, and lets no super-packet of the kernel be larger than one UDP batch can carry.
    pub(super) async fn set_mtu(&self, device: &str, mtu: u16) -> Result<(), Error> {
        let link = self.netlink().link(device).await?;
        if link.mtu != u32::from(mtu) {
            self.netlink().set_mtu(link.index, mtu.into()).await?;
        }
        Ok(())
    }

    /// Brings path routing up to date after interfaces or routes changed.
    pub(super) async fn refresh(&mut self) {
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

    async fn needs(&self, config: &Config, links: &Links) -> Result<Needs, Error> {
        let mut needs = Needs::default();
        for device in &config.devices {
            needs.addresses.extend(device.addresses.iter().map(|net| (device.name.clone(), *net)));
        }
        for connection in &config.connections {
            let device = config.device(&connection.device);
            let own = device.map_or(&[][..], |device| &device.addresses);
            needs.routes.extend(routes(connection, own));
            for path in &connection.paths {
                if let Some(routing) = self.path_routing(path, links).await {
                    // One in place already is needed still: the look-up goes its way now.
                    needs.paths.insert(routing);
                }
            }
        }
        Ok(needs)
    }

    /// The rule a path needs, if the routing table by itself would not send its packets out of the interface that has its local address.
    async fn path_routing(&self, path: &Path, links: &Links) -> Option<PathRouting> {
        let local = path.local?;
        let link = links.of(path)?;
        let routing = PathRouting {
            local,
            remote: path.remote,
            interface: link.name.clone(),
            gateway: None,
        };
        if self.paths.contains(&routing) {
            return Some(routing);
        }
        let query = Query { source: Some(local), ..Query::to(path.remote) };
        // Without any route there is nothing a rule could choose.
        let lookup = self.netlink().lookup(query).await.ok()?;
        (lookup.interface != link.index && link.up).then_some(routing)
    }
}

/// Routes to what is behind the other end. The network of the device's own address has its route from the kernel.
fn routes<'a>(
    connection: &'a Connection,
    own: &'a [IpNet],
) -> impl Iterator<Item = (String, IpNet)> + 'a {
    let wanted = connection.routes && connection.direction.sends();
    let networks = connection.networks.iter().filter(move |_| wanted);
    let covered = |net: &IpNet| own.iter().any(|own| own.trunc() == *net);
    networks
        .filter(move |net| !covered(net) && !is_link_local(net))
        .map(|net| (connection.device.clone(), *net))
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
