//! The interface that each path runs over, and whether it can carry packets.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use mpt_config::{Config, Connection, Path, USUAL_MTU};
use mpt_linux::netlink::{Event, Events, LinkInfo, Netlink, Query};

use crate::daemon::names::unknown::is_unknown;
use crate::data::{LinkFacts, PathLink};

/// All interfaces and addresses at one moment. It follows the network by the events alone, since asking for everything takes longer than a path
/// may be dead.
#[derive(Clone, Debug, Default)]
pub(in crate::daemon) struct Links {
    links: HashMap<u32, LinkInfo>,
    names: HashMap<String, u32>,
    /// Interfaces that have an address: with DHCP several may have the same.
    owners: HashMap<IpAddr, BTreeSet<u32>>,
    /// The interface by which packets leave between addresses the local one of which is on a loopback or dummy interface.
    outgoing: HashMap<(IpAddr, IpAddr), u32>,
}

impl Links {
    /// Returns the links with which `events` begins.
    pub(in crate::daemon) fn new(events: &Events) -> Self {
        let mut links = Self::default();
        events.links().for_each(|link| links.set(link));
        for (interface, net) in events.addresses() {
            links.owners.entry(net.addr()).or_default().insert(interface);
        }
        links
    }

    /// Follows one change.
    pub(in crate::daemon) fn follow(&mut self, event: &Event) {
        match event {
            Event::LinkAppeared(link)
            | Event::LinkUp(link)
            | Event::LinkDown(link)
            | Event::MtuChanged(link) => self.set(link),
            Event::LinkGone { index, name } => {
                self.links.remove(index);
                // Another one may have taken the name.
                if self.names.get(name) == Some(index) {
                    self.names.remove(name);
                }
            }
            Event::AddressAdded { interface, net } => {
                self.owners.entry(net.addr()).or_default().insert(*interface);
            }
            Event::AddressRemoved { interface, net } => {
                if let Some(owners) = self.owners.get_mut(&net.addr()) {
                    owners.remove(interface);
                    if owners.is_empty() {
                        self.owners.remove(&net.addr());
                    }
                }
            }
            Event::RouteChanged { .. }
            | Event::OwnRuleRemoved(_)
            | Event::OwnRouteRemoved(_)
            | Event::Resynchronized => {}
        }
    }

    fn set(&mut self, link: &LinkInfo) {
        self.names.insert(link.name.clone(), link.index);
        self.links.insert(link.index, link.clone());
    }

    /// Finds the interface by which packets leave whose local address is on an interface that only holds addresses, as on routers.
    pub(in crate::daemon) async fn ask_routes(&mut self, netlink: &Netlink, config: &Config) {
        self.outgoing.clear();
        for path in config.connections.iter().flat_map(|connection| &connection.paths) {
            let (None, Some(local), Some(remote)) =
                (&path.interface, path.local, path.remote.address())
            else {
                continue;
            };
            if self.owner(local).is_some_and(|owner| owner.holds_addresses) {
                let query = Query { source: Some(local), ..Query::to(remote) };
                if let Ok(interface) = netlink.way_out(query).await {
                    self.outgoing.insert((local, remote), interface);
                }
            }
        }
    }

    /// Takes over what another has found out.
    pub(super) fn know_routes(&mut self, other: &Self) {
        self.outgoing.clone_from(&other.outgoing);
    }

    /// The interface of a path: the one it names, or the one that has its local address. If that interface only holds addresses, as on routers, it is
    /// the one that the routes say.
    pub(in crate::daemon) fn of(&self, path: &Path) -> Option<&LinkInfo> {
        match (&path.interface, path.local) {
            (Some(name), _) => self.named(name),
            (None, Some(local)) => match self.owner(local)? {
                owner if owner.holds_addresses => {
                    self.links.get(self.outgoing.get(&(local, path.remote.address()?))?)
                }
                owner => Some(owner),
            },
            (None, None) => None,
        }
    }

    pub(in crate::daemon) fn named(&self, name: &str) -> Option<&LinkInfo> {
        self.links.get(self.names.get(name)?)
    }

    pub(in crate::daemon) fn facts(&self, path: &Path) -> LinkFacts {
        let link = self.of(path);
        LinkFacts {
            mtu: link.map_or(USUAL_MTU, |link| u16::try_from(link.mtu).unwrap_or(u16::MAX)),
            carrier: !is_unknown(path)
                && link.is_some_and(|link| link.up && link.running && self.has_address(path, link)),
            resolved: !is_unknown(path),
        }
    }

    /// The address from which packets of a path leave: the one it says, or else the one of its interface; `None` without any.
    pub(in crate::daemon) fn address(&self, path: &Path) -> Option<IpAddr> {
        if path.local.is_some() {
            return path.local;
        }
        let link = self.of(path)?;
        let of_link = |(address, owners): (&IpAddr, &BTreeSet<u32>)| {
            (owners.contains(&link.index) && serves(*address, path)).then_some(*address)
        };
        self.owners.iter().filter_map(of_link).min()
    }

    /// True if an interface of this host has this address.
    pub(in crate::daemon) fn has(&self, address: IpAddr) -> bool {
        self.owners.contains_key(&address)
    }

    /// Returns what the data thread is told of a path.
    pub(super) fn path_link(&self, connection: &Connection, path: &Path) -> PathLink {
        PathLink {
            connection: connection.name.clone(),
            path: path.name.clone(),
            fixed_mtu: path.mtu.is_some(),
            facts: self.facts(path),
        }
    }

    /// Returns what the data thread is told of all paths.
    pub(in crate::daemon) fn path_links(&self, config: &Config) -> Vec<PathLink> {
        let of = |it: &Connection| -> Vec<_> {
            it.paths.iter().map(|path| self.path_link(it, path)).collect()
        };
        config.connections.iter().flat_map(of).collect()
    }

    /// True if packets of the path would have an address: the one it says, or any the interface has.
    fn has_address(&self, path: &Path, link: &LinkInfo) -> bool {
        match (path.local, &path.interface) {
            (Some(local), Some(_)) => {
                self.owners.get(&local).is_some_and(|owners| owners.contains(&link.index))
            }
            (Some(local), None) => self.owners.contains_key(&local),
            // The kernel would take an address of another interface; over a point-to-point link that may be meant.
            (None, _) => {
                link.point_to_point
                    || self.owners.iter().any(|(address, owners)| {
                        owners.contains(&link.index) && serves(*address, path)
                    })
            }
        }
    }

    fn owner(&self, local: IpAddr) -> Option<&LinkInfo> {
        self.links.get(self.owners.get(&local)?.first()?)
    }
}

/// True if packets to `remote` can have this source address.
fn serves(address: IpAddr, path: &Path) -> bool {
    let is_link_local = |address| match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    address.is_ipv6() == path.is_ipv6()
        && (path.remote.address().is_some_and(is_link_local) || !is_link_local(address))
}
