//! Routes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType, RouteVia,
};

use crate::netlink::interfaces::address::family;
use crate::netlink::{Error, Netlink, PROTOCOL};

/// The table ordinary routes stand in (`RT_TABLE_MAIN`).
pub const MAIN_TABLE: u32 = 254;

/// A route.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// The destination of the route.
    pub destination: IpNet,
    /// The next hop of the route.
    pub via: Via,
    /// Routing table, [`MAIN_TABLE`] for the ordinary one.
    pub table: u32,
    /// The metric. Among several routes to one destination, the one with the lowest metric is
    /// taken. `None` stands for the kernel's default, 0 for IPv4 and 1024 for IPv6, which is what a
    /// listed IPv6 route has.
    pub metric: Option<u32>,
    /// Bytes of the largest IP packet; `None`: that of the interface.
    pub mtu: Option<u32>,
    /// Source address of packets whose sender chose none.
    pub source: Option<IpAddr>,
}

/// The next hop of a route.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Via {
    /// Out of an interface.
    Interface {
        /// The interface.
        index: u32,
        /// The router to give packets to; `None`: the destination itself is on the link.
        gateway: Option<IpAddr>,
        /// Take the gateway for a neighbour although no route says so.
        onlink: bool,
    },
    /// Nowhere: senders get `EHOSTUNREACH` at once.
    Unreachable,
}

impl Via {
    /// Directly out of an interface.
    pub const fn interface(index: u32) -> Self {
        Self::Interface { index, gateway: None, onlink: false }
    }
}

impl Route {
    /// The usual route of a tunnel: to `destination` directly out of `interface`, in the main
    /// table.
    pub const fn out_of(interface: u32, destination: IpNet) -> Self {
        let via = Via::interface(interface);
        Self { destination, via, table: MAIN_TABLE, metric: None, mtu: None, source: None }
    }

    /// The last route of a table that is one's own: what no other route there takes fails, instead of
    /// leaving by a table that is asked later.
    pub(super) const fn last_resort(table: u32, destination: IpNet) -> Self {
        let (via, metric) = (Via::Unreachable, Some(u32::MAX));
        Self { destination, via, table, metric, mtu: None, source: None }
    }

    /// The interface it leaves by.
    pub const fn interface(&self) -> Option<u32> {
        match self.via {
            Via::Interface { index, .. } => Some(index),
            Via::Unreachable => None,
        }
    }

    /// True if this route and another one differ in their MTU at most.
    pub(in crate::netlink) fn is_but_for_mtu(&self, other: &Self) -> bool {
        *self == Self { mtu: self.mtu, ..other.clone() }
    }

    /// True if `shown` is how the kernel shows this route: it fills in the metric.
    pub(in crate::netlink) fn is_shown_as(&self, shown: &Self) -> bool {
        let metric = self.metric.or(shown.metric);
        *shown == Self { metric, ..self.clone() }
    }

    pub(in crate::netlink) fn message(&self) -> RouteMessage {
        let mut message = self.key();
        message
            .attributes
            .extend(self.source.map(|source| RouteAttribute::PrefSource(source.into())));
        let mtu = self.mtu.map(|mtu| RouteAttribute::Metrics(vec![RouteMetric::Mtu(mtu)]));
        message.attributes.extend(mtu);
        message
    }

    /// Returns what tells this route from others.
    fn key(&self) -> RouteMessage {
        let mut message = RouteMessage::default();
        let header = &mut message.header;
        header.address_family = family(self.destination.addr());
        header.destination_prefix_length = self.destination.prefix_len();
        header.protocol = RouteProtocol::from(self.owner());
        // The header has 8 bits for it, the attribute 32.
        header.table = u8::try_from(self.table).unwrap_or_default();
        let attributes = &mut message.attributes;
        attributes.push(RouteAttribute::Destination(self.destination.network().into()));
        attributes.push(RouteAttribute::Table(self.table));
        attributes.extend(self.metric.map(RouteAttribute::Priority));
        match &self.via {
            Via::Unreachable => header.kind = RouteType::Unreachable,
            Via::Interface { index, gateway, onlink } => {
                header.kind = RouteType::Unicast;
                attributes.push(RouteAttribute::Oif(*index));
                match gateway {
                    // A route via a gateway is only accepted if the route to the gateway is of
                    // this narrower scope (IPv4; IPv6 knows no scopes here).
                    None => header.scope = RouteScope::Link,
                    // RFC 5549: an IPv4 destination behind an IPv6 router.
                    Some(IpAddr::V6(gateway)) if self.destination.addr().is_ipv4() => {
                        attributes.push(RouteAttribute::Via(RouteVia::Inet6(*gateway)));
                    }
                    Some(gateway) => attributes.push(RouteAttribute::Gateway((*gateway).into())),
                }
                header.flags.set(RouteFlags::Onlink, *onlink);
            }
        }
        message
    }

    /// The routes of a message: one for each next hop. `None` for what is not a unicast or
    /// unreachable route.
    pub(in crate::netlink) fn parse(message: &RouteMessage) -> Option<Vec<Self>> {
        let header = &message.header;
        let unspecified: IpAddr = match header.address_family {
            AddressFamily::Inet => Ipv4Addr::UNSPECIFIED.into(),
            AddressFamily::Inet6 => Ipv6Addr::UNSPECIFIED.into(),
            _ => return None,
        };
        let mut route = Self {
            destination: IpNet::new(unspecified, header.destination_prefix_length).ok()?,
            via: Via::Unreachable,
            table: header.table.into(),
            metric: None,
            mtu: None,
            source: None,
        };
        let mut next_hops = Vec::new();
        for attribute in &message.attributes {
            match attribute {
                RouteAttribute::Destination(address) => {
                    let address = ip(address)?;
                    route.destination =
                        IpNet::new(address, header.destination_prefix_length).ok()?;
                }
                RouteAttribute::Table(table) => route.table = *table,
                RouteAttribute::Priority(metric) => route.metric = Some(*metric),
                RouteAttribute::PrefSource(address) => route.source = ip(address),
                RouteAttribute::Metrics(metrics) => route.mtu = mtu(metrics),
                RouteAttribute::MultiPath(hops) => next_hops.extend(hops.iter().map(|hop| {
                    let flags = RouteFlags::from_bits_retain(hop.flags.bits().into());
                    next_hop(hop.interface_index, &hop.attributes, flags)
                })),
                _ => {}
            }
        }
        match header.kind {
            RouteType::Unreachable => return Some(vec![route]),
            RouteType::Unicast => {}
            _ => return None,
        }
        if next_hops.is_empty() {
            let index = message.attributes.iter().find_map(|attribute| match attribute {
                RouteAttribute::Oif(index) => Some(*index),
                _ => None,
            });
            next_hops.push(next_hop(index?, &message.attributes, header.flags));
        }
        Some(next_hops.into_iter().map(|via| Self { via, ..route.clone() }).collect())
    }
}

/// The notation of `ip route`.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.via {
            Via::Unreachable => write!(f, "unreachable {}", self.destination)?,
            Via::Interface { index, gateway, onlink } => {
                write!(f, "{}", self.destination)?;
                if let Some(gateway) = gateway {
                    write!(f, " via {gateway}")?;
                }
                write!(f, " dev #{index}{}", if *onlink { " onlink" } else { "" })?;
            }
        }
        if self.table != MAIN_TABLE {
            write!(f, " table {}", self.table)?;
        }
        for (name, value) in [("metric", self.metric), ("mtu", self.mtu)] {
            if let Some(value) = value {
                write!(f, " {name} {value}")?;
            }
        }
        self.source.map_or(Ok(()), |source| write!(f, " src {source}"))
    }
}

/// A question: how would a packet go?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Its destination.
    pub destination: IpAddr,
    /// Its source address, if it has one already: policy rules look at it.
    pub source: Option<IpAddr>,
    /// The interface its socket is bound to.
    pub interface: Option<u32>,
    /// The mark of its socket.
    pub mark: Option<u32>,
}

impl Query {
    /// About an ordinary packet.
    pub const fn to(destination: IpAddr) -> Self {
        Self { destination, source: None, interface: None, mark: None }
    }
}

/// The route that a packet would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The interface it would leave by.
    pub interface: u32,
    /// The router it would be given to.
    pub gateway: Option<IpAddr>,
    /// The source address it would have.
    pub source: Option<IpAddr>,
    /// Largest packet on that way, in bytes, as far as this host knows: the route's or the learned
    /// path MTU, else that of the interface.
    pub mtu: u32,
    /// The table the route stands in.
    pub table: u32,
}

impl Netlink {
    /// Adds a route, marked as ours. An equal destination and metric in the same table is an error.
    pub async fn add_route(&self, route: &Route) -> Result<(), Error> {
        let attempt = format_args!("add route {route}");
        self.change(attempt, self.handle.route().add(route.message()).execute()).await
    }

    /// Puts a route in the place of one with the same destination, metric and table, whosever that
    /// is, or adds it.
    pub async fn replace_route(&self, route: &Route) -> Result<(), Error> {
        let attempt = format_args!("replace route {route}");
        self.change(attempt, self.handle.route().add(route.message()).replace().execute()).await
    }

    /// Removes a route of ours. Its MTU and source need not be right.
    pub async fn remove_route(&self, route: &Route) -> Result<(), Error> {
        let mut message = route.key();
        // For IPv4 this stands for "any scope".
        message.header.scope = RouteScope::NoWhere;
        let attempt = format_args!("remove route {route}");
        self.change(attempt, self.handle.route().del(message).execute()).await
    }

    /// Every route that carries our mark, in any table, and every guard, of this or any other daemon.
    pub async fn own_routes(&self) -> Result<Vec<Route>, Error> {
        let mut routes = self.guards().await?;
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut request = RouteMessage::default();
            request.header.address_family = family;
            request.header.protocol = RouteProtocol::from(PROTOCOL);
            routes.extend(self.dump(request).await?);
        }
        Ok(routes)
    }

    /// The best route to `destination` in the main table of those that leave by `interface`:
    /// longest prefix, then lowest metric. Other interfaces and policy rules are not considered.
    pub async fn route_by(
        &self,
        destination: IpAddr,
        interface: u32,
    ) -> Result<Option<Route>, Error> {
        let mut request = RouteMessage::default();
        request.header.address_family = family(destination);
        request.header.table = MAIN_TABLE as u8;
        request.attributes.push(RouteAttribute::Oif(interface));
        let routes = self.dump(request).await?;
        let fits = |route: &Route| {
            route.destination.contains(&destination) && route.interface() == Some(interface)
        };
        let better = |route: &Route| {
            (route.destination.prefix_len(), std::cmp::Reverse(route.metric.unwrap_or(0)))
        };
        Ok(routes.into_iter().filter(fits).max_by_key(better))
    }

    /// The routes of one IP version that leave by `interface`, of every table.
    pub async fn routes_by(&self, interface: u32, ipv6: bool) -> Result<Vec<Route>, Error> {
        let mut request = RouteMessage::default();
        request.header.address_family =
            if ipv6 { AddressFamily::Inet6 } else { AddressFamily::Inet };
        request.attributes.push(RouteAttribute::Oif(interface));
        let routes = self.dump(request).await?;
        Ok(routes.into_iter().filter(|route| route.interface() == Some(interface)).collect())
    }

    /// Returns how a packet would go now, policy rules included. Fails with "network is unreachable" where
    /// there is no route.
    pub async fn lookup(&self, query: Query) -> Result<Lookup, Error> {
        let found = self.lookup_route(query).await?;
        if found.mtu != 0 {
            return Ok(found);
        }
        Ok(Lookup { mtu: self.link_by_index(found.interface).await?.mtu, ..found })
    }

    /// The interface by which a packet would leave now, as [`Self::lookup`] says.
    pub async fn way_out(&self, query: Query) -> Result<u32, Error> {
        Ok(self.lookup_route(query).await?.interface)
    }

    /// Looks up a route. The MTU is 0 where only the interface has one.
    async fn lookup_route(&self, query: Query) -> Result<Lookup, Error> {
        let destination = query.destination;
        let mut request = RouteMessage::default();
        request.header.address_family = family(destination);
        request.header.destination_prefix_length = host_prefix(destination);
        if destination.is_ipv4() {
            // The table of the route, not that of the rule. For IPv6 it is so without asking, and
            // asking is an error.
            request.header.flags = RouteFlags::LookupTable;
        }
        request.attributes.push(RouteAttribute::Destination(destination.into()));
        if let Some(source) = query.source {
            request.header.source_prefix_length = host_prefix(source);
            request.attributes.push(RouteAttribute::Source(source.into()));
        }
        request.attributes.extend(query.interface.map(RouteAttribute::Oif));
        request.attributes.extend(query.mark.map(RouteAttribute::Mark));

        let attempt = format!("look up the route to {destination}");
        let answers = self.handle.route().get(request).execute();
        let found = self.collect(&attempt, answers, Some).await?;
        let message = found.first().ok_or_else(|| Error::silent(&attempt))?;
        let mut interface = None;
        let mut found = Lookup {
            interface: 0,
            gateway: None,
            source: query.source,
            mtu: 0,
            table: message.header.table.into(),
        };
        for attribute in &message.attributes {
            match attribute {
                RouteAttribute::Oif(index) => interface = Some(*index),
                RouteAttribute::Gateway(address) => found.gateway = ip(address),
                RouteAttribute::Via(RouteVia::Inet6(address)) => {
                    found.gateway = Some((*address).into());
                }
                RouteAttribute::PrefSource(address) => found.source = ip(address),
                RouteAttribute::Metrics(metrics) => found.mtu = mtu(metrics).unwrap_or(0),
                RouteAttribute::Table(table) => found.table = *table,
                _ => {}
            }
        }
        found.interface = interface.ok_or_else(|| Error::silent(&attempt))?;
        Ok(found)
    }

    pub(super) async fn dump(&self, request: RouteMessage) -> Result<Vec<Route>, Error> {
        let answers = self.handle.route().get(request).execute();
        let routes = self.collect("list routes", answers, |m| Route::parse(&m)).await?;
        Ok(routes.into_iter().flatten().collect())
    }
}

fn next_hop(index: u32, attributes: &[RouteAttribute], flags: RouteFlags) -> Via {
    let gateway = attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Gateway(address) => ip(address),
        RouteAttribute::Via(RouteVia::Inet6(address)) => Some((*address).into()),
        _ => None,
    });
    Via::Interface { index, gateway, onlink: flags.contains(RouteFlags::Onlink) }
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some((*address).into()),
        RouteAddress::Inet6(address) => Some((*address).into()),
        _ => None,
    }
}

fn mtu(metrics: &[RouteMetric]) -> Option<u32> {
    metrics.iter().find_map(|metric| match metric {
        RouteMetric::Mtu(mtu) => Some(*mtu),
        _ => None,
    })
}

pub(super) const fn host_prefix(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route() -> Route {
        let mut route = Route::out_of(7, "10.1.0.0/16".parse().unwrap());
        route.table = 1000;
        route.metric = Some(5);
        route.mtu = Some(1464);
        route.source = Some("10.0.0.1".parse().unwrap());
        route
    }

    #[test]
    fn a_message_parses_back_to_its_route() {
        let v6 = Route {
            destination: "2001:db8::/32".parse().unwrap(),
            via: Via::Interface {
                index: 3,
                gateway: Some("fe80::1".parse().unwrap()),
                onlink: true,
            },
            ..Route::out_of(3, "::/0".parse().unwrap())
        };
        let unreachable = Route { via: Via::Unreachable, source: None, mtu: None, ..route() };
        for route in [route(), v6, unreachable] {
            assert_eq!(Route::parse(&route.message()), Some(vec![route.clone()]), "{route}");
        }
    }

    #[test]
    fn it_is_written_as_iproute2_does() {
        assert_eq!(
            route().to_string(),
            "10.1.0.0/16 dev #7 table 1000 metric 5 mtu 1464 src 10.0.0.1"
        );
    }
}
