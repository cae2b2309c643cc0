//! Which interface each path runs over, and whether it can carry packets.

use std::net::IpAddr;

use mpt_linux::netlink::{Address, Error, LinkInfo, Netlink};

use crate::config::Path;
use crate::data::LinkFacts;

/// MTU taken for a path whose interface is not there: that of Ethernet.
const USUAL_MTU: u16 = 1500;

/// All interfaces and addresses at one moment.
#[derive(Debug, Default)]
pub(super) struct Links {
    links: Vec<LinkInfo>,
    addresses: Vec<Address>,
}

impl Links {
    pub(super) async fn read(netlink: &Netlink) -> Result<Self, Error> {
        Ok(Self { links: netlink.links().await?, addresses: netlink.addresses().await? })
    }

    /// The interface of a path: the one it names, or the one that has its local address.
    pub(super) fn of(&self, path: &Path) -> Option<&LinkInfo> {
        match (&path.interface, path.local) {
            (Some(name), _) => self.named(name),
            (None, Some(local)) => {
                let index = self.owner(local)?;
                self.links.iter().find(|link| link.index == index)
            }
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
                    self.addresses
                        .iter()
                        .any(|it| it.interface == link.index && it.net.addr() == local)
                };
                link.up && link.running && path.local.is_none_or(has_local)
            }),
        }
    }

    fn owner(&self, local: IpAddr) -> Option<u32> {
        let address = self.addresses.iter().find(|address| address.net.addr() == local)?;
        Some(address.interface)
    }
}
