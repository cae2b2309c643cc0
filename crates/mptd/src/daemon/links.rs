//! Which interface each path runs over, and whether it can carry packets.

use std::collections::HashMap;
use std::net::IpAddr;

use mpt_linux::netlink::{Address, Error, LinkInfo, Netlink, Query};

use crate::config::{Config, Path};
use crate::data::LinkFacts;

/// MTU taken for a path whose interface is not there: that of Ethernet.
const USUAL_MTU: u16 = 1500;

/// All interfaces and addresses at one moment.
#[derive(Debug, Default)]
pub(super) struct Links {
    links: Vec<LinkInfo>,
    addresses: Vec<Address>,
    /// The interface by which packets leave between addresses the local one of which is on a loopback or dummy interface.
    outgoing: HashMap<(IpAddr, IpAddr), u32>,
}

impl Links {
    /// What `config` needs to know.
    pub(super) async fn read(netlink: &Netlink, config: &Config) -> Result<Self, Error> {
        let (links, addresses) = (netlink.links().await?, netlink.addresses().await?);
        let mut links = Self { links, addresses, outgoing: HashMap::new() };
        for path in config.connections.iter().flat_map(|connection| &connection.paths) {
            let (None, Some(local)) = (&path.interface, path.local) else { continue };
            if links.owner(local).is_some_and(|owner| owner.holds_addresses) {
                let query = Query { source: Some(local), ..Query::to(path.remote) };
                if let Ok(found) = netlink.lookup(query).await {
                    links.outgoing.insert((local, path.remote), found.interface);
                }
            }
        }
        Ok(links)
    }

    /// The interface of a path: the one it names, or the one that has its local address. Where that only holds addresses, as on routers, it is the
    /// one the routes say.
    pub(super) fn of(&self, path: &Path) -> Option<&LinkInfo> {
        match (&path.interface, path.local) {
            (Some(name), _) => self.named(name),
            (None, Some(local)) => match self.owner(local)? {
                owner if owner.holds_addresses => {
                    self.with_index(*self.outgoing.get(&(local, path.remote))?)
                }
                owner => Some(owner),
            },
            (None, None) => None,
        }
    }

    pub(super) fn named(&self, name: &str) -> Option<&LinkInfo> {
        self.links.iter().find(|link| link.name == *name)
    }

    pub(super) fn facts(&self, path: &Path) -> LinkFacts {
        let link = self.of(path);
        LinkFacts {
            mtu: link.map_or(USUAL_MTU, |link| u16::try_from(link.mtu).unwrap_or(u16::MAX)),
            carrier: link.is_some_and(|link| {
                let has_local = |local| {
                    self.addresses.iter().any(|it| {
                        let elsewhere = path.interface.is_none();
                        it.net.addr() == local && (elsewhere || it.interface == link.index)
                    })
                };
                link.up && link.running && path.local.is_none_or(has_local)
            }),
        }
    }

    fn owner(&self, local: IpAddr) -> Option<&LinkInfo> {
        let address = self.addresses.iter().find(|address| address.net.addr() == local)?;
        self.with_index(address.interface)
    }

    fn with_index(&self, index: u32) -> Option<&LinkInfo> {
        self.links.iter().find(|link| link.index == index)
    }
}
