//! The packets that a connection takes: from the tables of the file to selectors, and whether they contradict one another.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use ipnet::IpNet;
use mpt_wire::ip::protocol;

use crate::parse::draft::{ConnectionDraft, Select};
use crate::syntax::reader::{Context, Lines, Located};
use crate::types::{Connection, Fec, Late, PortRange, Selector};

/// The key and the line a selector comes from.
type Origin = (&'static str, usize);

/// A selector, the class that it makes, and where it stands.
pub(crate) struct Expanded {
    pub(crate) selector: Selector,
    pub(crate) late: Late,
    pub(crate) fec: Fec,
    pub(super) origin: Origin,
}

/// The selectors of a connection: each `[[connection.select]]` for each of its destinations.
pub(super) fn expand(
    context: &Context<'_>,
    connection: &Connection,
    lines: &Lines,
    selects: &[Located<Select>],
) -> Vec<Expanded> {
    if selects.is_empty() {
        let origin = ("connection.networks", lines.of("networks"));
        let unique: BTreeSet<_> = connection.networks.iter().collect();
        let plain = |&network: &IpNet| Expanded {
            selector: Selector::to(network),
            late: Late::Wait,
            fec: Fec::Auto,
            origin,
        };
        return unique.into_iter().map(plain).collect();
    }
    let mut selectors = Vec::new();
    for Located { value: select, lines } in selects {
        let error = |key: &str, message: String| {
            context.error(lines.of(key), &format!("connection.select.{key}"), message);
        };
        let with_ports =
            select.protocol.is_some_and(|number| protocol::WITH_PORTS.contains(&number));
        for (key, ports) in
            [("source_port", select.source_port), ("destination_port", select.destination_port)]
        {
            if ports.is_some() && !with_ports {
                let message = match select.protocol {
                    None => "needs a protocol; write protocol = \"tcp\" or \"udp\"",
                    Some(_) => {
                        "the protocol has no ports; write protocol = \"tcp\" or \"udp\", or leave the port out"
                    }
                };
                error(key, message.into());
            }
        }
        let fits = |destination: &&IpNet| {
            select.source.is_none_or(|source| family(&source) == family(destination))
        };
        let destinations: Vec<_> = match &select.destination {
            Some(destination) => Some(destination).filter(fits).into_iter().collect(),
            None => connection.networks.iter().filter(fits).collect(),
        };
        if let (true, Some(source)) = (destinations.is_empty(), select.source) {
            let what = if select.destination.is_some() { "destination is" } else { "networks are" };
            if select.destination.is_some() || !connection.networks.is_empty() {
                error(
                    "source",
                    format!(
                        "{source} is {}, but {what} not; write networks of one family",
                        family(&source)
                    ),
                );
            }
        }
        let origin = ("connection.select", lines.header());
        let selector = |&destination: &IpNet| Selector {
            destination,
            // Any source at all is no restriction.
            source: select.source.filter(|source| source.prefix_len() > 0),
            protocol: select.protocol,
            source_port: select.source_port,
            destination_port: select.destination_port,
            dscp: select.dscp,
        };
        let expanded = |network| Expanded {
            selector: selector(network),
            late: select.late,
            fec: select.fec,
            origin,
        };
        selectors.extend(destinations.into_iter().map(expanded));
    }
    selectors
}

fn family(net: &IpNet) -> &'static str {
    match net {
        IpNet::V4(_) => "IPv4",
        IpNet::V6(_) => "IPv6",
    }
}

/// Returns every selector of every connection, with the key and the line it comes from.
fn all_selectors(
    drafts: &[ConnectionDraft],
) -> impl Iterator<Item = (&Connection, &Selector, &'static str, usize)> {
    drafts.iter().flat_map(|draft| {
        let ConnectionDraft { connection, origins, .. } = draft;
        let with_origin = connection.selectors.iter().zip(origins);
        with_origin.map(move |(selector, &(key, line))| (connection, selector, key, line))
    })
}

/// Reports selectors of one device between which a packet could not choose.
pub(crate) fn conflicts(context: &Context<'_>, drafts: &[ConnectionDraft]) {
    equal_selectors(context, drafts);
    overlapping_ports(context, drafts);
}

/// Two connections of a device that want the same packets.
fn equal_selectors(context: &Context<'_>, drafts: &[ConnectionDraft]) {
    let mut first: HashMap<(&str, &Selector), &str> = HashMap::new();
    for (connection, selector, key, line) in all_selectors(drafts) {
        match first.entry((&connection.device, selector)) {
            Entry::Vacant(vacant) => {
                vacant.insert(&connection.name);
            }
            Entry::Occupied(earlier) if *earlier.get() == connection.name => context.error(
                line,
                key,
                format!("connection \"{}\" selects {selector} twice; write it once", connection.name),
            ),
            Entry::Occupied(earlier) => context.error(
                line,
                key,
                format!(
                    "connections \"{}\" and \"{}\" both select {selector}; write a [[connection.select]] that tells \
                     them apart, or another network",
                    earlier.get(),
                    connection.name
                ),
            ),
        }
    }
}

/// Two selectors alike but for their ports, whose ranges overlap: the smaller range wins, so they must not be of one size.
fn overlapping_ports(context: &Context<'_>, drafts: &[ConnectionDraft]) {
    let ports = |selector: &Selector| [selector.destination_port, selector.source_port];
    let size = |range: Option<PortRange>| range.map(|range| range.last - range.first);
    let mut groups: HashMap<_, Vec<(&Connection, &Selector)>> = HashMap::new();
    for (connection, selector, key, line) in all_selectors(drafts) {
        let Selector { destination, source, protocol, dscp, .. } = *selector;
        let rank = (&connection.device, destination, source, protocol, dscp);
        let group = groups.entry((rank, ports(selector).map(size))).or_default();
        let overlaps = |other: &Selector| {
            let mut both = ports(selector).into_iter().zip(ports(other));
            let overlap = |a: PortRange, b: PortRange| a.first <= b.last && b.first <= a.last;
            other != selector && both.all(|(a, b)| a.zip(b).is_none_or(|(a, b)| overlap(a, b)))
        };
        if let Some((other_connection, other)) = group.iter().find(|(_, other)| overlaps(other)) {
            context.error(
                line,
                key,
                format!(
                    "{other} (connection \"{}\") and {selector} (connection \"{}\") overlap, and neither range is the \
                     smaller one, which would win; write ranges that do not overlap",
                    other_connection.name, connection.name
                ),
            );
        }
        group.push((connection, selector));
    }
}
