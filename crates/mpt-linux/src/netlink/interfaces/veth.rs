//! Virtual Ethernet pairs: the cables of the laboratory.

use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth};
use rtnetlink::{LinkMessageBuilder, LinkUnspec, LinkVeth};

use crate::netlink::{Error, Netlink};
use crate::netns::Namespace;

/// One end of a veth pair.
#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    /// Name of the interface, 1 to 15 bytes.
    pub name: &'a str,
    /// The namespace of this end.
    pub namespace: &'a Namespace,
}

impl Netlink {
    /// Makes a veth pair with each end, down and without addresses, in its namespace. Removing one
    /// end, or the namespace of one end, removes both.
    pub async fn add_veth(&self, left: VethEnd<'_>, right: VethEnd<'_>) -> Result<(), Error> {
        let descriptor = |end: VethEnd<'_>| end.namespace.as_fd().as_raw_fd();
        let peer = LinkMessageBuilder::<LinkUnspec>::new()
            .name(right.name)
            .setns_by_fd(descriptor(right))
            .build();
        let message = LinkMessageBuilder::<LinkVeth>::new_with_info_kind(InfoKind::Veth)
            .name(left.name)
            .setns_by_fd(descriptor(left))
            .set_info_data(InfoData::Veth(InfoVeth::Peer(peer)))
            .build();
        let place = |end: VethEnd<'_>| format!("{} in {}", end.name, end.namespace.name());
        let attempt = format!("add veth pair {} - {}", place(left), place(right));
        self.change(attempt, self.handle.link().add(message).execute()).await
    }

    /// Moves an interface into another namespace. It loses its addresses and is down afterwards.
    pub async fn move_link(&self, index: u32, namespace: &Namespace) -> Result<(), Error> {
        let what = format!("move into namespace {}", namespace.name());
        self.change_link(index, &what, |link| link.setns_by_fd(namespace.as_fd().as_raw_fd())).await
    }

    /// Renames an interface, which has to be down on older kernels.
    pub async fn rename_link(&self, index: u32, name: &str) -> Result<(), Error> {
        self.change_link(index, &format!("rename to {name}"), |link| link.name(name)).await
    }
}
