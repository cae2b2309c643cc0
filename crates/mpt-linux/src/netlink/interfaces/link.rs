//! Network interfaces.

use netlink_packet_route::AddressFamily;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use rtnetlink::{LinkMessageBuilder, LinkUnspec};

use crate::netlink::{Error, Netlink};

/// The properties of a network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkInfo {
    /// Kernel index, never used twice in one namespace.
    pub index: u32,
    /// Name, e.g. `eth0`. May change.
    pub name: String,
    /// Administratively up (`IFF_UP`).
    pub up: bool,
    /// Operational: up, carrier present, not dormant (`IFF_RUNNING`, RFC 2863 `ifOperStatus`).
    pub running: bool,
    /// True if every packet reaches the one other end (`IFF_POINTOPOINT`), or needs no neighbour to
    /// be found (`IFF_NOARP`).
    pub point_to_point: bool,
    /// True if no packet leaves the host by it (`IFF_LOOPBACK`, or a dummy), so that it only holds
    /// addresses.
    pub holds_addresses: bool,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// Driver kind of a virtual interface: `veth`, `tun`, ...; hardware has none.
    pub kind: Option<String>,
    /// Largest super-packet the interface takes, in bytes, headers included.
    pub gso_max_size: Option<u32>,
    /// Packets its queue holds.
    pub tx_queue_len: Option<u32>,
}

impl LinkInfo {
    pub(in crate::netlink) fn parse(message: &LinkMessage) -> Option<Self> {
        // Bridges announce their ports as links of a family of their own.
        if message.header.interface_family != AddressFamily::Unspec {
            return None;
        }
        let flags = message.header.flags;
        let mut link = Self {
            index: message.header.index,
            name: String::new(),
            up: flags.contains(LinkFlags::Up),
            running: flags.contains(LinkFlags::Up | LinkFlags::Running),
            point_to_point: flags.intersects(LinkFlags::Pointopoint | LinkFlags::Noarp),
            holds_addresses: flags.contains(LinkFlags::Loopback),
            mtu: 0,
            kind: None,
            gso_max_size: None,
            tx_queue_len: None,
        };
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
                LinkAttribute::GsoMaxSize(size) => link.gso_max_size = Some(*size),
                LinkAttribute::TxQueueLen(length) => link.tx_queue_len = Some(*length),
                LinkAttribute::LinkInfo(infos) => {
                    link.kind = infos.iter().find_map(|info| match info {
                        netlink_packet_route::link::LinkInfo::Kind(kind) => Some(kind.to_string()),
                        _ => None,
                    });
                }
                _ => {}
            }
        }
        link.holds_addresses |= link.kind.as_deref() == Some("dummy");
        Some(link)
    }
}

impl Netlink {
    /// The interface called `name`; [`Error::NoInterface`] if there is none.
    pub async fn link(&self, name: &str) -> Result<LinkInfo, Error> {
        let missing = || Error::NoInterface(name.to_owned());
        // Longer names would be refused with a message that does not say why.
        if name.is_empty() || name.len() > 15 {
            return Err(missing());
        }
        let answers = self.handle.link().get().match_name(name).execute();
        match self
            .collect(format_args!("look up interface {name}"), answers, |m| LinkInfo::parse(&m))
            .await
        {
            Ok(links) => links.into_iter().next().ok_or_else(missing),
            Err(error) if error.is_gone() => Err(missing()),
            Err(error) => Err(error),
        }
    }

    /// The interface with this index.
    pub async fn link_by_index(&self, index: u32) -> Result<LinkInfo, Error> {
        let missing = || Error::NoInterface(format!("#{index}"));
        let answers = self.handle.link().get().match_index(index).execute();
        match self
            .collect(format_args!("look up interface #{index}"), answers, |m| LinkInfo::parse(&m))
            .await
        {
            Ok(links) => links.into_iter().next().ok_or_else(missing),
            Err(error) if error.is_gone() => Err(missing()),
            Err(error) => Err(error),
        }
    }

    /// All interfaces of the namespace.
    pub async fn links(&self) -> Result<Vec<LinkInfo>, Error> {
        self.collect("list interfaces", self.handle.link().get().execute(), |m| LinkInfo::parse(&m))
            .await
    }

    /// Returns true if an interface of this name exists.
    pub async fn link_exists(&self, name: &str) -> Result<bool, Error> {
        match self.link(name).await {
            Ok(_) => Ok(true),
            Err(Error::NoInterface(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sets an interface administratively up.
    pub async fn set_up(&self, index: u32) -> Result<(), Error> {
        self.change_link(index, "set up", |link| link.up()).await
    }

    /// Sets an interface administratively down. The kernel drops its routes.
    pub async fn set_down(&self, index: u32) -> Result<(), Error> {
        self.change_link(index, "set down", |link| link.down()).await
    }

    /// Sets the MTU: bytes of the largest IP packet. Below 1280 the kernel takes IPv6 off the
    /// interface.
    pub async fn set_mtu(&self, index: u32, mtu: u32) -> Result<(), Error> {
        self.change_link(index, &format!("set mtu {mtu} on"), |link| link.mtu(mtu)).await
    }

    /// Limits the super-packets the kernel gives to an interface, in bytes of the whole packet.
    pub async fn set_gso_max_size(&self, index: u32, bytes: u32) -> Result<(), Error> {
        self.change_link(index, &format!("set gso_max_size {bytes} on"), |link| {
            link.append_extra_attribute(LinkAttribute::GsoMaxSize(bytes))
        })
        .await
    }

    /// Limits the super-packets the kernel gives to an interface, in segments.
    pub async fn set_gso_max_segs(&self, index: u32, segments: u32) -> Result<(), Error> {
        self.change_link(index, &format!("set gso_max_segs {segments} on"), |link| {
            link.append_extra_attribute(LinkAttribute::GsoMaxSegs(segments))
        })
        .await
    }

    /// Sets how many packets the queue of an interface holds.
    pub async fn set_tx_queue_len(&self, index: u32, packets: u32) -> Result<(), Error> {
        self.change_link(index, &format!("set txqueuelen {packets} on"), |link| {
            link.txqueuelen(packets)
        })
        .await
    }

    /// Removes an interface (a veth pair with both its ends).
    pub async fn remove_link(&self, index: u32) -> Result<(), Error> {
        let attempt = format!("remove {}", self.interface_name(index).await);
        self.change(attempt, self.handle.link().del(index).execute()).await
    }

    pub(super) async fn change_link(
        &self,
        index: u32,
        what: &str,
        edit: impl FnOnce(LinkMessageBuilder<LinkUnspec>) -> LinkMessageBuilder<LinkUnspec>,
    ) -> Result<(), Error> {
        let message = edit(LinkUnspec::new_with_index(index)).build();
        let attempt = format!("{what} interface {}", self.interface_name(index).await);
        self.change(attempt, self.handle.link().change(message).execute()).await
    }

    /// For messages: the name, or `#INDEX` where it is gone.
    pub(super) async fn interface_name(&self, index: u32) -> String {
        self.link_by_index(index).await.map_or_else(|_| format!("#{index}"), |link| link.name)
    }
}
