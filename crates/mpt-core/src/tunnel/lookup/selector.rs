//! The selection of the connection that carries a packet from a TUN device.
//!
//! Among all selectors that match, the one with the highest precedence wins: longest destination prefix, then longest source prefix, then protocol
//! named, then ports named (destination ports first, then source ports, the smaller range before the larger), then DSCP named. Two selectors of equal
//! precedence that match a common packet are an error.
//!
//! A fragment carries no ports, except the first. So that all fragments of a packet take the same
//! connection, none matches a selector that names ports, the first included. If fragments are to be
//! expected, a selector without ports says where they go.
//!
//! The look-up is a tuple space search (Srinivasan, Suri, Varghese: "Packet classification using
//! tuple space search", SIGCOMM 1999): one hash probe for each distinct shape (the combination of
//! prefix lengths and named fields), however many connections there are. A range of ports is stored
//! as the aligned blocks it consists of.

use std::hash::Hash;
use std::net::IpAddr;
use std::ops::BitAnd;

use ipnet::IpNet;
use mpt_wire::ip::Summary;
use rustc_hash::FxHashMap;

use crate::{ConnectionId, DeviceId};

/// The properties that a packet must have to travel on a connection. A field that is `None` matches
/// anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    /// The destination of the packet. Bits beyond the prefix length are ignored, here and in
    /// `source`.
    pub destination: IpNet,
    /// The source of the packet, of the same IP version.
    pub source: Option<IpNet>,
    /// The upper-layer protocol, after IPv6 extension headers.
    pub protocol: Option<u8>,
    /// TCP, UDP, SCTP, DCCP or UDP-Lite ports; the protocol must be named.
    pub destination_ports: Option<PortRange>,
    /// TCP, UDP, SCTP, DCCP or UDP-Lite source ports; the protocol must be named.
    pub source_ports: Option<PortRange>,
    /// Differentiated services code point, 0..=63.
    pub dscp: Option<u8>,
}

impl Selector {
    /// Matches every packet to a destination.
    pub fn to(destination: IpNet) -> Self {
        Self {
            destination,
            source: None,
            protocol: None,
            destination_ports: None,
            source_ports: None,
            dscp: None,
        }
    }

    /// Returns true if it matches what a packet is an answer to: the packet with source and
    /// destination exchanged.
    pub(crate) fn matches_answer(&self, packet: &Summary) -> bool {
        let (source, destination) = (packet.destination, packet.source);
        let ports = packet.ports.map(|(source, destination)| (destination, source));
        self.matches(&Summary { source, destination, ports, ..*packet })
    }

    /// Returns true if it matches a packet.
    pub(crate) fn matches(&self, packet: &Summary) -> bool {
        let within = |range: Option<PortRange>, port: Option<u16>| {
            range.is_none_or(|range| {
                port.is_some_and(|port| (range.first..=range.last).contains(&port))
            })
        };
        let (source_port, destination_port) = packet.ports.unzip();
        self.destination.contains(&packet.destination)
            && self.source.is_none_or(|net| net.contains(&packet.source))
            && self.protocol.is_none_or(|protocol| protocol == packet.protocol)
            && within(self.destination_ports, destination_port)
            && within(self.source_ports, source_port)
            && self.dscp.is_none_or(|dscp| dscp == packet.dscp())
    }

    /// Higher wins. The fields in the order of their rank, the first in the highest bits.
    fn precedence(&self) -> u64 {
        let ports = |range: Option<PortRange>| range.map_or(0, |range| 65_537 - range.len());
        let mut precedence = u64::from(self.destination.prefix_len());
        precedence = precedence << 8 | u64::from(self.source.map_or(0, |net| net.prefix_len()));
        precedence = precedence << 1 | u64::from(self.protocol.is_some());
        precedence = precedence << 17 | u64::from(ports(self.destination_ports));
        precedence = precedence << 17 | u64::from(ports(self.source_ports));
        precedence << 1 | u64::from(self.dscp.is_some())
    }

    /// Returns true if some packet matches both, and neither has precedence.
    fn conflicts(&self, other: &Self) -> bool {
        let bits =
            |net: Option<IpNet>| net.map(|net| net.trunc()).filter(|net| net.prefix_len() > 0);
        let overlap = |a: Option<PortRange>, b: Option<PortRange>| match (a, b) {
            (Some(a), Some(b)) => a.first <= b.last && b.first <= a.last,
            _ => true,
        };
        self.precedence() == other.precedence()
            && self.destination.trunc() == other.destination.trunc()
            && bits(self.source) == bits(other.source)
            && self.protocol == other.protocol
            && self.dscp == other.dscp
            && overlap(self.destination_ports, other.destination_ports)
            && overlap(self.source_ports, other.source_ports)
    }
}

/// Ports from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    /// `None` if `first` is above `last`.
    pub fn new(first: u16, last: u16) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// Returns the lowest port.
    pub fn first(self) -> u16 {
        self.first
    }

    /// Returns the highest port.
    pub fn last(self) -> u16 {
        self.last
    }

    /// Returns how many ports there are.
    #[expect(clippy::len_without_is_empty, reason = "a range holds at least one port")]
    pub fn len(self) -> u32 {
        u32::from(self.last) - u32::from(self.first) + 1
    }

    /// Returns the range as aligned blocks (value, mask), at most 30.
    fn blocks(self) -> impl Iterator<Item = (u16, u16)> {
        let mut next = u32::from(self.first);
        std::iter::from_fn(move || {
            let left = (u32::from(self.last) + 1).checked_sub(next).filter(|&left| left > 0)?;
            let aligned = 1 << next.trailing_zeros().min(16);
            let size = u32::min(aligned, 1 << left.ilog2());
            let block = (next as u16, !(size - 1) as u16);
            next += size;
            Some(block)
        })
    }
}

impl From<u16> for PortRange {
    fn from(port: u16) -> Self {
        Self { first: port, last: port }
    }
}

/// The selectors of all connections, ready for look-up.
#[derive(Clone, Debug, Default)]
pub struct SelectorTable {
    v4: Space<u32>,
    v6: Space<u128>,
    selectors: Vec<(DeviceId, Selector, ConnectionId)>,
}

impl SelectorTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a selector, or gives the connection that has an equal one.
    pub fn insert(
        &mut self,
        device: DeviceId,
        selector: Selector,
        connection: ConnectionId,
    ) -> Result<(), ConnectionId> {
        let equal = |&&(other_device, ref other, _): &&(DeviceId, Selector, ConnectionId)| {
            other_device == device && other.conflicts(&selector)
        };
        if let Some(&(_, _, other)) = self.selectors.iter().find(equal) {
            return Err(other);
        }
        self.store(device, &selector, connection);
        self.selectors.push((device, selector, connection));
        Ok(())
    }

    /// Removes all selectors of a connection.
    pub fn remove(&mut self, connection: ConnectionId) {
        self.selectors.retain(|&(_, _, other)| other != connection);
        (self.v4, self.v6) = Default::default();
        for (device, selector, connection) in std::mem::take(&mut self.selectors) {
            self.store(device, &selector, connection);
            self.selectors.push((device, selector, connection));
        }
    }

    /// Returns the connection of a packet.
    #[inline]
    pub fn lookup(&self, device: DeviceId, packet: &Summary) -> Option<ConnectionId> {
        let rest = Rest::of_packet(device, packet);
        match (packet.destination, packet.source) {
            (IpAddr::V4(destination), IpAddr::V4(source)) => {
                self.v4.lookup(Key { destination: destination.into(), source: source.into(), rest })
            }
            (IpAddr::V6(destination), IpAddr::V6(source)) => {
                self.v6.lookup(Key { destination: destination.into(), source: source.into(), rest })
            }
            _ => None,
        }
    }

    fn store(&mut self, device: DeviceId, selector: &Selector, connection: ConnectionId) {
        let entry = Entry { precedence: selector.precedence(), connection };
        let any = [(0, 0)];
        let blocks = |range: Option<PortRange>| match range {
            Some(range) => range.blocks().collect(),
            None => any.to_vec(),
        };
        for destination_port in blocks(selector.destination_ports) {
            for source_port in blocks(selector.source_ports) {
                let (rest, mask) =
                    Rest::of_selector(device, selector, destination_port, source_port);
                match (selector.destination, selector.source) {
                    (IpNet::V4(destination), source) => {
                        let source = source.and_then(|net| match net {
                            IpNet::V4(net) => Some((net.addr().into(), net.netmask().into())),
                            IpNet::V6(_) => None,
                        });
                        let destination = (destination.addr().into(), destination.netmask().into());
                        self.v4.insert(
                            destination,
                            source.unwrap_or_default(),
                            (rest, mask),
                            entry,
                        );
                    }
                    (IpNet::V6(destination), source) => {
                        let source = source.and_then(|net| match net {
                            IpNet::V6(net) => Some((net.addr().into(), net.netmask().into())),
                            IpNet::V4(_) => None,
                        });
                        let destination = (destination.addr().into(), destination.netmask().into());
                        self.v6.insert(
                            destination,
                            source.unwrap_or_default(),
                            (rest, mask),
                            entry,
                        );
                    }
                }
            }
        }
    }
}

/// Everything in a key but the addresses, packed: ports known (1 bit), device (16), DSCP (6),
/// protocol (8), destination port (16), source port (16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Rest(u64);

impl Rest {
    fn new(
        ports: bool,
        device: u16,
        dscp: u8,
        protocol: u8,
        destination: u16,
        source: u16,
    ) -> Self {
        let mut bits = u64::from(ports);
        bits = bits << 16 | u64::from(device);
        bits = bits << 6 | u64::from(dscp & 0x3f);
        bits = bits << 8 | u64::from(protocol);
        bits = bits << 16 | u64::from(destination);
        Self(bits << 16 | u64::from(source))
    }

    fn of_packet(device: DeviceId, packet: &Summary) -> Self {
        let (source, destination) = packet.ports.unwrap_or_default();
        let ports = packet.ports.is_some();
        Self::new(ports, device.0, packet.tos >> 2, packet.protocol, destination, source)
    }

    /// Value and mask.
    fn of_selector(
        device: DeviceId,
        selector: &Selector,
        destination: (u16, u16),
        source: (u16, u16),
    ) -> (Self, Self) {
        let ports = selector.destination_ports.is_some() || selector.source_ports.is_some();
        let dscp = selector.dscp.map_or((0, 0), |dscp| (dscp, 0x3f));
        let protocol = selector.protocol.map_or((0, 0), |protocol| (protocol, 0xff));
        (
            Self::new(ports, device.0, dscp.0, protocol.0, destination.0, source.0),
            Self::new(ports, 0xffff, dscp.1, protocol.1, destination.1, source.1),
        )
    }
}

/// All selectors of one IP version, by shape.
#[derive(Clone, Debug, Default)]
struct Space<A> {
    /// By descending `best`.
    shapes: Vec<Shape<A>>,
}

#[derive(Clone, Debug)]
struct Shape<A> {
    mask: Key<A>,
    /// Highest precedence in `entries`.
    best: u64,
    entries: FxHashMap<Key<A>, Entry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key<A> {
    destination: A,
    source: A,
    rest: Rest,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    precedence: u64,
    connection: ConnectionId,
}

impl<A: Copy + Eq + Hash + BitAnd<Output = A>> Space<A> {
    fn insert(
        &mut self,
        destination: (A, A),
        source: (A, A),
        (rest, rest_mask): (Rest, Rest),
        entry: Entry,
    ) {
        let mask = Key { destination: destination.1, source: source.1, rest: rest_mask };
        let key = Key { destination: destination.0, source: source.0, rest }.masked(&mask);
        let place = self.shapes.iter().position(|shape| shape.mask == mask);
        let place = place.unwrap_or_else(|| {
            self.shapes.push(Shape { mask, best: 0, entries: FxHashMap::default() });
            self.shapes.len() - 1
        });
        let shape = &mut self.shapes[place];
        shape.best = shape.best.max(entry.precedence);
        // A block of ports can belong to a range and to a smaller one within it.
        let stored = shape.entries.entry(key).or_insert(entry);
        if stored.precedence < entry.precedence {
            *stored = entry;
        }
        self.shapes.sort_by_key(|shape| std::cmp::Reverse(shape.best));
    }

    #[inline]
    fn lookup(&self, packet: Key<A>) -> Option<ConnectionId> {
        let mut found: Option<Entry> = None;
        for shape in &self.shapes {
            if found.is_some_and(|found| found.precedence >= shape.best) {
                break;
            }
            let candidate = shape.entries.get(&packet.masked(&shape.mask));
            if let Some(&candidate) = candidate
                && found.is_none_or(|found| found.precedence < candidate.precedence)
            {
                found = Some(candidate);
            }
        }
        found.map(|entry| entry.connection)
    }
}

impl<A: Copy + BitAnd<Output = A>> Key<A> {
    #[inline]
    fn masked(&self, mask: &Self) -> Self {
        Self {
            destination: self.destination & mask.destination,
            source: self.source & mask.source,
            rest: Rest(self.rest.0 & mask.rest.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    #[test]
    fn an_answer_is_known_by_what_it_answers() {
        let selector = Selector {
            source: Some(net("10.1.0.0/16")),
            protocol: Some(17),
            destination_ports: Some(PortRange::from(5060)),
            dscp: Some(46),
            ..Selector::to(net("10.2.0.0/16"))
        };
        let answer = Summary {
            version: mpt_wire::ip::Version::V4,
            source: "10.2.0.1".parse().unwrap(),
            destination: "10.1.0.1".parse().unwrap(),
            protocol: 17,
            tos: 46 << 2,
            transport: 20,
            ports: Some((5060, 40_000)),
            fragment: false,
            flow_label: 0,
            total_len: 200,
        };
        assert!(selector.matches_answer(&answer));
        let ports = Some((40_000, 5060));
        for other in [
            Summary { source: answer.destination, destination: answer.source, ..answer },
            Summary { destination: "10.3.0.1".parse().unwrap(), ..answer },
            Summary { protocol: 6, ..answer },
            Summary { ports, ..answer },
            Summary { ports: None, fragment: true, ..answer },
            Summary { tos: 0, ..answer },
        ] {
            assert!(!selector.matches_answer(&other), "{other:?}");
        }
    }

    #[test]
    fn a_range_is_the_union_of_its_blocks() {
        for (first, last) in
            [(0, 0), (0, 65_535), (1, 65_534), (10_000, 20_000), (65_535, 65_535), (5, 6)]
        {
            let mut ports: Vec<u16> = Vec::new();
            let blocks: Vec<_> = PortRange::new(first, last).unwrap().blocks().collect();
            assert!(blocks.len() <= 30);
            for (value, mask) in blocks {
                assert_eq!(value & !mask, 0);
                ports.extend(value..=value | !mask);
            }
            assert!(ports.into_iter().eq(first..=last));
        }
    }
}
