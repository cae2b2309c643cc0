//! Addresses of interfaces.

use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage,
};

use crate::netlink::{Error, Netlink};

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The interface.
    pub interface: u32,
    /// Address and prefix length; host bits are kept.
    pub net: IpNet,
    /// May be bound to: duplicate address detection (RFC 4862 section 5.4) is over and found none.
    pub usable: bool,
}

impl Address {
    pub(in crate::netlink) fn parse(message: &AddressMessage) -> Option<Self> {
        let mut local = None;
        let mut address = None;
        let mut flags = AddressFlags::from_bits_retain(message.header.flags.bits().into());
        for attribute in &message.attributes {
            match attribute {
                // On a point-to-point interface IFA_ADDRESS is the peer, IFA_LOCAL ours.
                AddressAttribute::Local(ip) => local = Some(*ip),
                AddressAttribute::Address(ip) => address = Some(*ip),
                AddressAttribute::Flags(all) => flags = *all,
                _ => {}
            }
        }
        Some(Self {
            interface: message.header.index,
            net: IpNet::new(local.or(address)?, message.header.prefix_len).ok()?,
            usable: !flags.intersects(AddressFlags::Tentative | AddressFlags::Dadfailed),
        })
    }
}

impl Netlink {
    /// Adds an address, with exactly this prefix length, to an interface; the kernel adds the route
    /// to its network. An IPv6 address is usable at once: there is nobody to have a duplicate on a
    /// TUN device, so detection (`IFA_F_NODAD`) is left out. No IPv4 broadcast address is set.
    pub async fn add_address(&self, interface: u32, net: IpNet) -> Result<(), Error> {
        let mut request = self.handle.address().add(interface, net.addr(), net.prefix_len());
        let message = request.message_mut();
        message.attributes.retain(|attribute| !matches!(attribute, AddressAttribute::Broadcast(_)));
        if net.addr().is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
        }
        let attempt = format!("add address {net} to {}", self.interface_name(interface).await);
        self.change(attempt, request.execute()).await
    }

    /// Removes an address from an interface. Removing an IPv4 address also removes those added
    /// after it in the same network, unless the host has `promote_secondaries` set.
    pub async fn remove_address(&self, interface: u32, net: IpNet) -> Result<(), Error> {
        let mut message = AddressMessage::default();
        message.header.family = family(net.addr());
        message.header.prefix_len = net.prefix_len();
        message.header.index = interface;
        message.attributes =
            vec![AddressAttribute::Local(net.addr()), AddressAttribute::Address(net.addr())];
        let attempt = format!("remove address {net} from {}", self.interface_name(interface).await);
        self.change(attempt, self.handle.address().del(message).execute()).await
    }

    /// The addresses of every interface.
    pub async fn addresses(&self) -> Result<Vec<Address>, Error> {
        let answers = self.handle.address().get().execute();
        self.collect("list addresses", answers, |m| Address::parse(&m)).await
    }

    /// The interface that has the address `local`, if one has.
    pub async fn interface_of(&self, local: IpAddr) -> Result<Option<u32>, Error> {
        let addresses = self.addresses().await?;
        Ok(addresses.iter().find(|address| address.net.addr() == local).map(|a| a.interface))
    }
}

pub(in crate::netlink) fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}
