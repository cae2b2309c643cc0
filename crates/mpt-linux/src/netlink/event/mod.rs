//! Events of changes in the network.

mod notification;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;

use futures_util::{Stream, StreamExt};
use ipnet::IpNet;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::sys::socket::{setsockopt, sockopt};
use rtnetlink::MulticastGroup;
use rtnetlink::packet_core::{NetlinkMessage, NetlinkPayload};
use rtnetlink::sys::AsyncSocket;
use tokio::runtime;

use super::{Address, Error, LinkInfo, Netlink, Route, Rule};
use crate::netns::{Namespace, run_in};

/// Bytes of the kernel's buffer for notifications: some thousand of them, as when a switch with all its
/// links goes down.
const EVENT_BUFFER: usize = 8 << 20;

/// A change of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An interface came into being (or got this name). [`Event::LinkUp`] follows if it is running.
    LinkAppeared(LinkInfo),
    /// An interface became operational.
    LinkUp(LinkInfo),
    /// An interface stopped being operational: set down, or without carrier. The kernel removes its
    /// routes without further notice.
    LinkDown(LinkInfo),
    /// An interface is gone, or has another name now.
    LinkGone {
        /// Its index.
        index: u32,
        /// The name it had.
        name: String,
    },
    /// An interface got another MTU.
    MtuChanged(LinkInfo),
    /// An address may be bound to from now on.
    AddressAdded {
        /// Its interface.
        interface: u32,
        /// Address and prefix length.
        net: IpNet,
    },
    /// An address is gone.
    AddressRemoved {
        /// The interface it was on.
        interface: u32,
        /// Address and prefix length.
        net: IpNet,
    },
    /// A route that is not ours was added, changed or removed.
    RouteChanged {
        /// The table.
        table: u32,
        /// Its destination.
        destination: IpNet,
    },
    /// A rule with our owner was removed, by whomever.
    OwnRuleRemoved(Rule),
    /// A route with our owner was removed, by whomever.
    OwnRouteRemoved(Route),
    /// The kernel had more to tell than there was room for. Events for what happened to links and
    /// addresses have been made up; routes may have changed.
    Resynchronized,
}

/// The changes of one network namespace since this value was made.
pub struct Events {
    netlink: Netlink,
    messages: Pin<Box<dyn Stream<Item = NetlinkMessage<RouteNetlinkMessage>> + Send>>,
    state: State,
    pending: VecDeque<Event>,
    lost: bool,
}

impl Events {
    /// Listens in the network namespace of the calling thread.
    pub async fn connect() -> Result<Self, Error> {
        Self::open()?.start().await
    }

    /// Listens in `namespace`.
    pub async fn connect_in(namespace: &Namespace) -> Result<Self, Error> {
        let runtime = runtime::Handle::current();
        let open = || {
            let _guard = runtime.enter();
            Self::open()
        };
        let events =
            run_in(namespace, open).map_err(|error| Error::Connect(io::Error::other(error)))??;
        events.start().await
    }

    /// The links as the changes given so far have left them.
    pub fn links(&self) -> impl Iterator<Item = &LinkInfo> {
        self.state.links.values()
    }

    /// The addresses that may be bound to, and their interfaces, likewise.
    pub fn addresses(&self) -> impl Iterator<Item = (u32, IpNet)> {
        self.state.addresses.iter().copied()
    }

    /// The next change; `None` when the connection to the kernel broke. Dropping the future loses
    /// nothing.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            if self.lost {
                match snapshot(&self.netlink).await {
                    Ok((links, addresses)) => {
                        self.state.replace(links, &addresses, &mut self.pending);
                        self.pending.push_back(Event::Resynchronized);
                    }
                    Err(error) => {
                        tracing::error!(%error, "network changes are no longer followed");
                        return None;
                    }
                }
                self.lost = false;
                continue;
            }
            match self.messages.next().await?.payload {
                NetlinkPayload::InnerMessage(message) => {
                    self.state.handle_message(&message, &mut self.pending);
                }
                NetlinkPayload::Overrun(_) => self.lost = true,
                _ => {}
            }
        }
    }

    fn open() -> Result<Self, Error> {
        let groups = [
            MulticastGroup::Link,
            MulticastGroup::Ipv4Ifaddr,
            MulticastGroup::Ipv6Ifaddr,
            MulticastGroup::Ipv4Route,
            MulticastGroup::Ipv6Route,
            MulticastGroup::Ipv4Rule,
            MulticastGroup::Ipv6Rule,
        ];
        // A connection of its own: notifications of our own changes carry the number of our
        // request, and would be taken for its answer.
        let (mut connection, _, messages) =
            rtnetlink::new_multicast_connection(&groups).map_err(Error::Connect)?;
        // A smaller buffer may overflow when changes come all at once. This is noticed, and the state is read again.
        let socket = connection.socket_mut().socket_ref();
        if setsockopt(&socket.as_fd(), sockopt::RcvBufForce, &EVENT_BUFFER).is_err() {
            let _ = setsockopt(&socket.as_fd(), sockopt::RcvBuf, &EVENT_BUFFER);
        }
        tokio::spawn(connection);
        Ok(Self {
            netlink: Netlink::connect()?,
            messages: Box::pin(messages.map(|(message, _)| message)),
            state: State::default(),
            pending: VecDeque::new(),
            lost: false,
        })
    }

    /// Takes stock after subscribing, so that nothing falls between.
    async fn start(mut self) -> Result<Self, Error> {
        let (links, addresses) = snapshot(&self.netlink).await?;
        self.state.replace(links, &addresses, &mut self.pending);
        self.pending.clear();
        Ok(self)
    }
}

async fn snapshot(netlink: &Netlink) -> Result<(Vec<LinkInfo>, Vec<Address>), Error> {
    Ok((netlink.links().await?, netlink.addresses().await?))
}

/// The state that has been reported so far.
#[derive(Debug, Default)]
struct State {
    links: HashMap<u32, LinkInfo>,
    addresses: HashSet<(u32, IpNet)>,
}

impl State {
    fn handle_message(&mut self, message: &RouteNetlinkMessage, events: &mut VecDeque<Event>) {
        match message {
            RouteNetlinkMessage::NewLink(message) => {
                if let Some(link) = LinkInfo::parse(message) {
                    self.set_link(link, events);
                }
            }
            RouteNetlinkMessage::DelLink(message) => {
                if let Some(link) = LinkInfo::parse(message) {
                    self.remove_link(link.index, events);
                }
            }
            RouteNetlinkMessage::NewAddress(message) => {
                if let Some(address) = Address::parse(message) {
                    self.set_address(address, events);
                }
            }
            RouteNetlinkMessage::DelAddress(message) => {
                if let Some(address) = Address::parse(message) {
                    self.remove_address((address.interface, address.net), events);
                }
            }
            RouteNetlinkMessage::DelRule(message) => {
                let ipv6 = message.header.family == AddressFamily::Inet6;
                events.extend(Rule::parse_own(message, ipv6).map(Event::OwnRuleRemoved));
            }
            RouteNetlinkMessage::DelRoute(message) if notification::is_own(message) => {
                let removed = Route::parse(message).into_iter().flatten();
                events.extend(removed.map(Event::OwnRouteRemoved));
            }
            RouteNetlinkMessage::NewRoute(message) | RouteNetlinkMessage::DelRoute(message) => {
                let change = notification::parse_notification(message);
                events.extend(
                    change.map(|(table, destination)| Event::RouteChanged { table, destination }),
                );
            }
            _ => {}
        }
    }

    /// Goes over to a complete list, as if every difference had been told.
    fn replace(
        &mut self,
        links: Vec<LinkInfo>,
        addresses: &[Address],
        events: &mut VecDeque<Event>,
    ) {
        let present: HashSet<_> = addresses
            .iter()
            .filter(|address| address.usable)
            .map(|address| (address.interface, address.net))
            .collect();
        for gone in self.addresses.difference(&present).copied().collect::<Vec<_>>() {
            self.remove_address(gone, events);
        }
        let indices: HashSet<_> = links.iter().map(|link| link.index).collect();
        let gone: Vec<_> =
            self.links.keys().filter(|index| !indices.contains(index)).copied().collect();
        for index in gone {
            self.remove_link(index, events);
        }
        for link in links {
            self.set_link(link, events);
        }
        for address in addresses {
            self.set_address(*address, events);
        }
    }

    fn set_link(&mut self, link: LinkInfo, events: &mut VecDeque<Event>) {
        let mut before = self.links.insert(link.index, link.clone());
        if let Some(renamed) = before.take_if(|before| before.name != link.name) {
            events.push_back(Event::LinkGone { index: renamed.index, name: renamed.name });
        }
        if before.is_none() {
            events.push_back(Event::LinkAppeared(link.clone()));
        }
        if before.as_ref().is_some_and(|before| before.mtu != link.mtu) {
            events.push_back(Event::MtuChanged(link.clone()));
        }
        match (before.is_some_and(|before| before.running), link.running) {
            (false, true) => events.push_back(Event::LinkUp(link)),
            (true, false) => events.push_back(Event::LinkDown(link)),
            _ => {}
        }
    }

    fn remove_link(&mut self, index: u32, events: &mut VecDeque<Event>) {
        let addresses: Vec<_> =
            self.addresses.iter().filter(|(i, _)| *i == index).copied().collect();
        for address in addresses {
            self.remove_address(address, events);
        }
        if let Some(link) = self.links.remove(&index) {
            events.push_back(Event::LinkGone { index, name: link.name });
        }
    }

    fn set_address(&mut self, address: Address, events: &mut VecDeque<Event>) {
        let Address { interface, net, usable } = address;
        if !usable {
            self.remove_address((interface, net), events);
        } else if self.addresses.insert((interface, net)) {
            events.push_back(Event::AddressAdded { interface, net });
        }
    }

    fn remove_address(&mut self, (interface, net): (u32, IpNet), events: &mut VecDeque<Event>) {
        if self.addresses.remove(&(interface, net)) {
            events.push_back(Event::AddressRemoved { interface, net });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{hash_map, hash_set};
    use proptest::prelude::*;

    use super::*;

    /// Little enough to choose from that two pictures have much in common.
    fn picture() -> impl Strategy<Value = (Vec<LinkInfo>, Vec<Address>)> {
        let link = ("[ab]", any::<bool>(), 1400..1402_u32);
        let address = (0..4_u32, 0..3_u8, any::<bool>());
        (hash_map(0..4_u32, link, 0..4), hash_set(address, 0..6)).prop_map(|(links, addresses)| {
            let links: Vec<_> = links
                .into_iter()
                .map(|(index, (name, running, mtu))| LinkInfo {
                    index,
                    name,
                    up: running,
                    running,
                    point_to_point: false,
                    holds_addresses: false,
                    mtu,
                    kind: None,
                    gso_max_size: None,
                    tx_queue_len: None,
                })
                .collect();
            let of_a_link =
                |(index, _, _): &(u32, u8, bool)| links.iter().any(|l| l.index == *index);
            let addresses = addresses
                .into_iter()
                .filter(of_a_link)
                .map(|(interface, last, usable)| {
                    let net = format!("10.0.0.{last}/24").parse().unwrap();
                    ((interface, net), usable)
                })
                .collect::<HashMap<_, _>>()
                .into_iter()
                .map(|((interface, net), usable)| Address { interface, net, usable })
                .collect();
            (links, addresses)
        })
    }

    /// The state that a listener knows from events: the name, running state and MTU of each link,
    /// and the addresses.
    #[derive(Debug, Default, PartialEq)]
    struct Listener {
        links: HashMap<u32, (String, bool, u32)>,
        addresses: HashSet<(u32, IpNet)>,
    }

    impl Listener {
        fn hear(&mut self, event: Event) {
            match event {
                Event::LinkAppeared(link) => {
                    let known = self.links.insert(link.index, (link.name, false, link.mtu));
                    assert_eq!(known, None, "appeared twice");
                }
                Event::LinkUp(link) => {
                    let (_, running, _) = self.links.get_mut(&link.index).expect("appeared before");
                    assert!(!std::mem::replace(running, true), "up twice");
                }
                Event::LinkDown(link) => {
                    let (_, running, _) = self.links.get_mut(&link.index).expect("appeared before");
                    assert!(std::mem::replace(running, false), "down twice");
                }
                Event::LinkGone { index, name } => {
                    assert_eq!(self.links.remove(&index).expect("appeared before").0, name);
                }
                Event::MtuChanged(link) => {
                    self.links.get_mut(&link.index).expect("appeared before").2 = link.mtu;
                }
                Event::AddressAdded { interface, net } => {
                    assert!(self.addresses.insert((interface, net)), "added twice");
                }
                Event::AddressRemoved { interface, net } => {
                    assert!(self.addresses.remove(&(interface, net)), "removed twice");
                }
                Event::RouteChanged { .. }
                | Event::OwnRuleRemoved(_)
                | Event::OwnRouteRemoved(_)
                | Event::Resynchronized => {}
            }
        }
    }

    proptest! {
        #[test]
        fn who_listens_knows_the_picture(pictures in proptest::collection::vec(picture(), 1..4)) {
            let mut state = State::default();
            let mut listener = Listener::default();
            for (links, addresses) in pictures {
                let mut events = VecDeque::new();
                state.replace(links.clone(), &addresses, &mut events);
                events.into_iter().for_each(|event| listener.hear(event));
                let picture = Listener {
                    links: links.into_iter().map(|l| (l.index, (l.name, l.running, l.mtu))).collect(),
                    addresses: addresses
                        .iter()
                        .filter(|address| address.usable)
                        .map(|address| (address.interface, address.net))
                        .collect(),
                };
                prop_assert_eq!(&listener, &picture);
            }
        }
    }
}
