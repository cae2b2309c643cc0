//! Two hosts, and the configuration of their interfaces.

use std::fmt;

use anyhow::Result;
use ipnet::IpNet;
use mpt_linux::netlink::{Netlink, VethEnd};
use tokio::runtime::Runtime;

use super::{End, Host};

/// Two hosts; gone when this is dropped. Everything that the laboratory measures is between two of them.
#[derive(Debug)]
pub(crate) struct Hosts {
    a: Side,
    b: Side,
    // Netlink is asynchronous, the laboratory is not.
    runtime: Runtime,
}

/// A host and its network configuration.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) netlink: Netlink,
    pub(crate) host: Host,
}

impl Side {
    /// Makes a host of this name; `runtime` is the one that will wait for its netlink.
    pub(crate) fn new(name: impl fmt::Display, runtime: &Runtime) -> Result<Self> {
        let host = Host::new(name)?;
        let netlink = runtime.block_on(async { Netlink::connect_in(host.namespace()) })?;
        Ok(Self { netlink, host })
    }

    /// Returns the kernel index of an interface.
    pub(crate) async fn index(&self, interface: &str) -> Result<u32> {
        Ok(self.netlink.link(interface).await?.index)
    }

    /// Gives an interface its addresses, and takes it up.
    pub(crate) async fn number(&self, interface: &str, addresses: &[IpNet]) -> Result<()> {
        let index = self.index(interface).await?;
        for &address in addresses {
            self.netlink.add_address(index, address).await?;
        }
        Ok(self.netlink.set_up(index).await?)
    }
}

impl Hosts {
    /// Makes two hosts with these names, without interfaces.
    pub(crate) fn new(a: impl fmt::Display, b: impl fmt::Display) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { a: Side::new(a, &runtime)?, b: Side::new(b, &runtime)?, runtime })
    }

    /// The host at one end.
    pub(crate) fn host(&self, end: End) -> &Host {
        &self.side(end).host
    }

    /// The host at one end with its netlink.
    pub(crate) fn side(&self, end: End) -> &Side {
        match end {
            End::A => &self.a,
            End::B => &self.b,
        }
    }

    /// Returns what waits for netlink.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Lays a cable between them (veth): an interface of that name at either.
    pub(crate) fn connect(&self, interface: &str) -> Result<()> {
        let [a, b] = [&self.a, &self.b]
            .map(|side| VethEnd { name: interface, namespace: side.host.namespace() });
        Ok(self.runtime.block_on(self.a.netlink.add_veth(a, b))?)
    }

    /// Gives an interface of the host at one end its addresses, and takes it up.
    pub(crate) fn number(&self, end: End, interface: &str, addresses: &[IpNet]) -> Result<()> {
        self.runtime.block_on(self.side(end).number(interface, addresses))
    }
}
