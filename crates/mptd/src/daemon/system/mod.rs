//! The addresses, MTUs and routes that the daemon makes in the system by netlink, and the routing of outer packets.

pub(super) mod fallback;
mod put_back;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use mpt_config::{self as config, Config, Connection, Fallback, Path};
use mpt_linux::netlink::{
    Error, Event, Internet, LinkInfo, Netlink, Owned, PathRouting, Query, Route, Rule, Uplink,
};
use mpt_linux::reverse_path;
use mpt_linux::udp::{MAX_BATCH_BYTES, MAX_BATCH_DATAGRAMS};
use mpt_wire::gre;

use super::network::links::Links;
use put_back::PutBack;

/// Packets that a device keeps until the daemon reads them. Beyond them the kernel drops packets, of which no flow and no queue of
/// ours knows. Its own 500 are too few: when a segment has come again, a TCP sender gets the acknowledgement of its whole
/// window at once, and sends the next one in packets of one or two segments before any thread can run. 4,096 of them are 6 to
/// 12 MB; the daemon reads them into its own fair queue as soon as it runs.
const DEVICE_QUEUE: u32 = 4_096;

/// Everything made, and the way to remove exactly that.
pub(super) struct System {
    owned: Owned,
    addresses: HashSet<(String, IpNet)>,
    routes: HashSet<TunnelRoute>,
    paths: HashSet<PathRouting>,
    uplinks: HashSet<Uplink>,
    /// The versions of IP of which nothing reaches the default routes of the uplinks: whether IPv6.
    blocks: HashSet<bool>,
    /// The networks of which nothing reaches a less specific route.
    guards: HashSet<IpNet>,
    /// The routes that have an MTU of their own, by the client's connection that needs it and by network.
    narrow: BTreeMap<String, BTreeMap<IpNet, Route>>,
    put_back: PutBack,
    /// The first configuration is in effect.
    settled: bool,
    /// A daemon that was killed has left a block or a guard, which no end of this one takes away that was not asked for.
    was_blocked: bool,
    /// Mark of outer packets, once one is needed.
    mark: Option<u32>,
    /// The present problems, which have been logged.
    complaints: BTreeSet<String>,
}

/// The needs of a configuration in the system, besides the routing of its paths.
#[derive(Default)]
struct Needs {
    /// Addresses in the order of the configuration: the first one of a network is the source address of most packets.
    addresses: Vec<(String, IpNet)>,
    routes: HashSet<TunnelRoute>,
}

/// The reason for which the daemon ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A signal asked for it.
    AskedFor,
    /// The test could not start.
    NotStarted,
    /// Something failed while it ran.
    Failure,
}

/// A route into the tunnel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TunnelRoute {
    device: String,
    net: IpNet,
    /// Address of packets whose sender chose none.
    source: Option<IpAddr>,
    /// The treatment of the packets of a default route while no path works. It is no part of other routes, which need not be made anew when it changes.
    fallback: Fallback,
}

impl System {
    /// Connects to the system and removes what daemons that were killed have left, except what keeps packets from leaving in clear.
    pub(super) async fn connect() -> Result<Self, Error> {
        let netlink = Netlink::connect()?;
        netlink.remove_leftovers_but_blocks().await?;
        let was_blocked = netlink.own_rules().await?.iter().any(Rule::is_block)
            || netlink.own_routes().await?.iter().any(Route::is_guard);
        Ok(Self {
            owned: Owned::new(netlink),
            addresses: HashSet::new(),
            routes: HashSet::new(),
            paths: HashSet::new(),
            uplinks: HashSet::new(),
            blocks: HashSet::new(),
            guards: HashSet::new(),
            narrow: BTreeMap::new(),
            put_back: PutBack::default(),
            settled: false,
            was_blocked,
            mark: None,
            complaints: BTreeSet::new(),
        })
    }

    /// The mark that outer packets must have before `config` is applied, if any.
    pub(super) async fn mark(&mut self, config: &Config) -> Result<Option<u32>, Error> {
        let needs_mark = [false, true].iter().any(|&ipv6| config.takes_internet(ipv6))
            || !uplinks(config).is_empty();
        if needs_mark && self.mark.is_none() {
            self.owned.set_mark(config.daemon.mark).await?;
            self.mark = Some(config.daemon.mark);
        }
        Ok(self.mark)
    }

    /// The mark of outer packets, once one is needed.
    pub(super) const fn current_mark(&self) -> Option<u32> {
        self.mark
    }

    pub(super) fn netlink(&self) -> &Netlink {
        self.owned.netlink()
    }

    /// Makes the system what `config` needs; what it needs no longer is removed first.
    pub(super) async fn apply(&mut self, config: &Config, links: &Links) -> Result<(), Error> {
        let needs = needs(config);
        for route in difference(&self.routes, &needs.routes) {
            if let Some(link) = self.find(&route.device).await? {
                self.remove_route(&route, link.index).await?;
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
                self.netlink().set_tx_queue_len(link.index, DEVICE_QUEUE).await?;
                self.netlink().set_up(link.index).await?;
            }
        }
        let guards = config.guarded_networks();
        for network in difference(&guards, &self.guards) {
            self.owned.add_guard(network).await?;
            self.guards.insert(network);
        }
        for route in difference(&needs.routes, &self.routes) {
            let link = self.netlink().link(&route.device).await?;
            self.add_route(&route, link.index).await?;
            self.routes.insert(route);
        }
        for network in difference(&self.guards, &guards) {
            self.owned.remove_guard(network).await?;
            self.guards.remove(&network);
        }
        let blocks: HashSet<bool> = self.routes.iter().filter_map(TunnelRoute::block).collect();
        for ipv6 in difference(&blocks, &self.blocks) {
            self.owned.add_block(ipv6).await?;
            self.blocks.insert(ipv6);
        }
        for ipv6 in difference(&self.blocks, &blocks) {
            self.owned.remove_block(ipv6).await?;
            self.blocks.remove(&ipv6);
        }
        // Last, since a route into the tunnel may lead the outer packets there as well.
        let mut complaints = BTreeSet::new();
        self.route_uplinks(config).await?;
        let result = self.route_paths(config, links, &mut complaints).await;
        complaints.extend(self.reverse_path_warnings(config).await);
        self.complain(complaints);
        result
    }

    async fn add_route(&mut self, route: &TunnelRoute, interface: u32) -> Result<(), Error> {
        match route.internet(interface) {
            Some(internet) => self.owned.add_internet(internet).await,
            None => self.owned.put_route(route.out_of(interface)).await,
        }
    }

    async fn remove_route(&mut self, route: &TunnelRoute, interface: u32) -> Result<(), Error> {
        match route.internet(interface) {
            Some(internet) => self.owned.remove_internet(&internet).await,
            None => self.owned.remove_route(&route.out_of(interface)).await,
        }
    }

    /// Gives the routes to these networks of a client's connection these MTUs, and those to its other networks that of the device again. An
    /// address within a network of the device, to which the kernel's route leads, gets a route of its own for that.
    pub(super) async fn set_route_mtus(
        &mut self,
        config: &Config,
        connection: &Connection,
        mtus: BTreeMap<IpNet, u16>,
    ) -> Result<(), Error> {
        let own = config.device(&connection.device).map_or(&[][..], |it| &it.addresses);
        let before = self.narrow.get(&connection.name).cloned().unwrap_or_default();
        if before.is_empty() && mtus.is_empty() {
            return Ok(());
        }
        for (network, route) in before.iter().filter(|(network, _)| !mtus.contains_key(network)) {
            self.widen(network, route).await?;
        }
        let mut routes = BTreeMap::new();
        if let Some(link) = self.find(&connection.device).await? {
            for (network, mtu) in mtus {
                let route = match self.route_to(&connection.device, &network) {
                    Some(route) => route.out_of(link.index),
                    None => Route {
                        source: source(connection, own, &network),
                        ..Route::out_of(link.index, network)
                    },
                };
                let route = Route { mtu: Some(mtu.into()), ..route };
                self.owned.put_route(route.clone()).await?;
                routes.insert(network, route);
            }
        }
        match routes.is_empty() {
            true => self.narrow.remove(&connection.name),
            false => self.narrow.insert(connection.name.clone(), routes),
        };
        Ok(())
    }

    /// Takes back what was done for a client's connection that is gone.
    pub(super) async fn forget_route_mtus(&mut self, connection: &str) -> Result<(), Error> {
        for (network, route) in self.narrow.remove(connection).unwrap_or_default() {
            self.widen(&network, &route).await?;
        }
        Ok(())
    }

    /// The connections of clients whose routes have an MTU of their own.
    pub(super) fn narrow_connections(&self) -> impl Iterator<Item = &String> {
        self.narrow.keys()
    }

    /// Takes the MTU of its own from a route, and the route itself if only the MTU asked for it.
    async fn widen(&mut self, network: &IpNet, route: &Route) -> Result<(), Error> {
        // A network is routed to one device only.
        match self.routes.iter().any(|it| it.net == *network) {
            true => self.owned.put_route(Route { mtu: None, ..route.clone() }).await,
            false => self.owned.remove_route(route).await,
        }
    }

    fn route_to(&self, device: &str, network: &IpNet) -> Option<&TunnelRoute> {
        self.routes.iter().find(|it| (it.device.as_str(), &it.net) == (device, network))
    }

    /// Gives every interface that paths name the routing it needs, and takes away what none needs.
    async fn route_uplinks(&mut self, config: &Config) -> Result<(), Error> {
        let wanted = uplinks(config);
        for uplink in difference(&self.uplinks, &wanted) {
            self.owned.remove_uplink(&uplink).await?;
            self.uplinks.remove(&uplink);
        }
        for uplink in difference(&wanted, &self.uplinks) {
            // An interface that is not there yet has no route either; that its paths are down says it all.
            if let Some(error @ Error::NoDefault { .. }) =
                self.owned.add_uplink(uplink.clone()).await?
            {
                tracing::info!(%error, "only what is on the link can be reached");
            }
            self.uplinks.insert(uplink);
        }
        Ok(())
    }

    /// Logs what was not wrong before.
    fn complain(&mut self, complaints: BTreeSet<String>) {
        for complaint in complaints.difference(&self.complaints) {
            tracing::warn!("{complaint}");
        }
        self.complaints = complaints;
    }

    /// Gives every path the routing it needs as things are now, and takes away what none needs. Every path is tried; the first error is returned.
    /// Paths that have no way to go are no error.
    async fn route_paths(
        &mut self,
        config: &Config,
        links: &Links,
        complaints: &mut BTreeSet<String>,
    ) -> Result<(), Error> {
        let paths = config.connections.iter().flat_map(|connection| &connection.paths);
        let candidates: HashSet<_> = paths.filter_map(|path| self.candidate(path, links)).collect();
        for routing in difference(&self.paths, &candidates) {
            self.owned.remove_path(&routing).await?;
            self.paths.remove(&routing);
        }
        let mut first = Ok(());
        for routing in difference(&candidates, &self.paths) {
            let done = match self.is_needed(&routing, config, links).await {
                Ok(true) => self.owned.add_path(routing.clone()).await,
                Ok(false) => continue,
                // Without any route there is nothing a rule could choose.
                Err(error) => {
                    complaints.insert(error.to_string());
                    continue;
                }
            };
            match done {
                Ok(missing) => {
                    complaints.extend(missing.map(|error| error.to_string()));
                    self.paths.insert(routing);
                }
                Err(error) => {
                    complaints.insert(error.to_string());
                    first = first.and(Err(error));
                }
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

    async fn reverse_path_warnings(&self, config: &Config) -> Vec<String> {
        let takes_internet = config.takes_internet(false);
        reverse_path::warnings(self.netlink(), config.bound_paths(), takes_internet).await
    }

    /// Brings routing up to date after interfaces, addresses or routes changed.
    pub(super) async fn refresh(&mut self, config: &Config, links: &Links) {
        let mut complaints = BTreeSet::new();
        // Its error is among the complaints.
        let _ = self.route_paths(config, links, &mut complaints).await;
        let (put_back, errors) = self.owned.refresh().await;
        self.put_back.log(&put_back, Instant::now());
        complaints.extend(errors.iter().map(ToString::to_string));
        complaints.extend(self.reverse_path_warnings(config).await);
        self.complain(complaints);
    }

    /// True if a configuration is in effect, to which the daemon could go back.
    pub(super) const fn is_settled(&self) -> bool {
        self.settled
    }

    /// Takes notice that a configuration is in effect. Rules and routes that a killed daemon left behind are no longer needed then.
    pub(super) async fn settle(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.settled, true) {
            return Ok(());
        }
        self.owned.remove_leftovers().await
    }

    /// True if one of these changes removed something that is needed.
    pub(super) fn misses(&self, removals: &[Event]) -> bool {
        removals.iter().any(|event| self.owned.misses(event))
    }

    /// Puts back what somebody else removed.
    pub(super) async fn put_back(&mut self) {
        let (put_back, errors) = self.owned.refresh().await;
        self.put_back.log(&put_back, Instant::now());
        for error in errors {
            tracing::warn!(%error, "not put back");
        }
    }

    /// Returns how long to wait before anything is put back again.
    pub(super) fn pause(&self) -> Duration {
        self.put_back.pause(Instant::now())
    }

    /// Lets the default routes with `fallback = "direct"` take packets exactly while one of their connections works, of which these are the names.
    pub(super) async fn follow_fallback(&mut self, config: &Config, working: &HashSet<String>) {
        for route in self.routes.iter().filter(|route| route.falls_back_to_direct()) {
            let carries = config
                .connections
                .iter()
                .filter(|it| it.device == route.device && it.networks.contains(&route.net))
                .any(|it| working.contains(&it.name));
            let result = match self.netlink().link(&route.device).await {
                Ok(link) => match route.internet(link.index) {
                    Some(internet) => self.owned.set_carries(&internet, carries).await,
                    None => Ok(()),
                },
                Err(error) => Err(error),
            };
            if let Err(error) = result {
                tracing::warn!(%error, network = %route.net, "the default route does not follow its paths");
            }
        }
    }

    /// Removes everything. The rules that keep packets from leaving in clear stay unless the end was asked for, or the daemon never ran.
    pub(super) async fn remove_all(&mut self, end: End) {
        let opens = match end {
            End::AskedFor => true,
            End::NotStarted => !self.was_blocked,
            End::Failure => false,
        };
        let result = if opens {
            self.owned.remove_all().await
        } else {
            if !self.blocks.is_empty() || !self.guards.is_empty() {
                tracing::warn!(
                    "what is meant for the tunnel stays blocked (fallback = \"block\"): start mptd again, or run mptd --unblock"
                );
            }
            self.owned.remove_all_but_blocks().await
        };
        for error in result.err().into_iter().flatten() {
            tracing::warn!(%error, "could not be removed");
        }
    }

    async fn find(&self, device: &str) -> Result<Option<LinkInfo>, Error> {
        if !self.netlink().link_exists(device).await? {
            return Ok(None);
        }
        self.netlink().link(device).await.map(Some)
    }

    /// The routing that would send a path's packets out of the interface that has its local address. Those of a path that names its interface
    /// leave by it in any case.
    fn candidate(&self, path: &Path, links: &Links) -> Option<PathRouting> {
        let (Some(local), None) = (path.local, &path.interface) else { return None };
        let remote = path.remote.address()?;
        let present = || self.paths.iter().find(|it| (it.local, it.remote) == (local, remote));
        let Some(link) = links.of(path) else {
            // The interface or its address is away; the path fails meanwhile, instead of leaving by another one.
            return present().cloned();
        };
        Some(PathRouting { local, remote, interface: link.name.clone(), gateway: None })
    }

    /// Returns true if the routing table by itself would send the packets elsewhere, or take those of the peer for forged: with a default route into
    /// the tunnel that is where the answers seem to go.
    async fn is_needed(
        &self,
        routing: &PathRouting,
        config: &Config,
        links: &Links,
    ) -> Result<bool, Error> {
        let Some(link) = links.named(&routing.interface).filter(|link| link.running) else {
            return Ok(false);
        };
        if config.takes_internet(routing.remote.is_ipv6()) {
            return Ok(true);
        }
        let query =
            Query { source: Some(routing.local), mark: self.mark, ..Query::to(routing.remote) };
        Ok(self.netlink().way_out(query).await? != link.index)
    }
}

/// The interfaces to which sockets are bound.
fn uplinks(config: &Config) -> HashSet<Uplink> {
    let paths = config.connections.iter().flat_map(|connection| &connection.paths);
    let uplink =
        |path: &Path| Some(Uplink { interface: path.interface.clone()?, ipv6: path.is_ipv6() });
    paths.filter_map(uplink).collect()
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

/// Returns the routes to the networks behind the peer. The network of the device's own address has its route from the kernel.
fn routes<'a>(
    connection: &'a Connection,
    own: &'a [IpNet],
) -> impl Iterator<Item = TunnelRoute> + 'a {
    let wanted = connection.routes && connection.direction.sends();
    let networks = connection.networks.iter().filter(move |_| wanted);
    let covered = |net: &IpNet| own.iter().any(|own| own.trunc() == *net);
    networks.filter(move |net| !covered(net) && !config::is_link_local(net)).map(|net| {
        TunnelRoute {
            device: connection.device.clone(),
            net: *net,
            source: source(connection, own, net),
            fallback: if net.prefix_len() == 0 { connection.fallback } else { Fallback::default() },
        }
    })
}

/// Returns, of several addresses of a device, the one in whose network the destination is, or else the peer: this is the one that the peer knows as
/// ours. `None` leaves the choice to the kernel.
fn source(connection: &Connection, own: &[IpNet], net: &IpNet) -> Option<IpAddr> {
    let beside = |net: &IpNet| own.iter().find(|own| own.contains(net)).map(IpNet::addr);
    let same_version = |other: &&IpNet| other.addr().is_ipv4() == net.addr().is_ipv4();
    beside(net).or_else(|| connection.networks.iter().filter(same_version).find_map(beside))
}

impl TunnelRoute {
    /// Returns what makes a default route, which takes more than a route.
    fn internet(&self, interface: u32) -> Option<Internet> {
        let ipv6 = self.net.addr().is_ipv6();
        let blocks = self.fallback == Fallback::Block;
        self.is_default().then_some(Internet { interface, source: self.source, ipv6, blocks })
    }

    fn is_default(&self) -> bool {
        self.net.prefix_len() == 0
    }

    /// The version of IP that it blocks: whether IPv6.
    fn block(&self) -> Option<bool> {
        let blocks = self.is_default() && self.fallback == Fallback::Block;
        blocks.then_some(self.net.addr().is_ipv6())
    }

    fn falls_back_to_direct(&self) -> bool {
        self.is_default() && self.fallback == Fallback::Direct
    }

    fn out_of(&self, interface: u32) -> Route {
        Route { source: self.source, ..Route::out_of(interface, self.net) }
    }
}

fn difference<T: Clone + Eq + std::hash::Hash>(one: &HashSet<T>, other: &HashSet<T>) -> Vec<T> {
    one.difference(other).cloned().collect()
}
