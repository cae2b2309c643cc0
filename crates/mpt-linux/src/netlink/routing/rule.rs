//! Policy rules: which packets look into which routing table.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use netlink_packet_route::route::RouteProtocol;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleFlags, RuleMessage};
use rtnetlink::IpVersion;

use crate::netlink::interfaces::address::family;
use crate::netlink::ledger::owner::KERNEL;
use crate::netlink::{Error, MAIN_TABLE, Netlink, PROTOCOL};

/// Priority of the rules of paths: after the local table (0), before rules an administrator or a
/// VPN usually adds (from 5000 on) and before the main table (32766).
pub const PATH_RULE_PRIORITY: u32 = 4754;
/// Priority of the rules that send the packets of this host into a tunnel: where the main table
/// (32766) would have the last word, and after every rule an administrator usually adds. One less
/// is that of the rules that look there for anything but a default route.
pub const TUNNEL_RULE_PRIORITY: u32 = BLOCK_RULE_PRIORITY - 1;
/// Priority of the rules that let nothing that is meant for a tunnel reach the main table (32766).
pub const BLOCK_RULE_PRIORITY: u32 = 32_765;

/// A policy rule: packets with all these properties look into a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Rules are tried from the lowest to the highest; the main table is at 32766.
    pub priority: u32,
    /// It is for all packets but those with all these properties.
    pub inverted: bool,
    /// Source prefix.
    pub source: Option<IpNet>,
    /// Destination prefix.
    pub destination: Option<IpNet>,
    /// Mark of the packet's socket, compared in all bits.
    pub mark: Option<u32>,
    /// Name of the interface it came in by; `lo` for packets of this host.
    pub input: Option<String>,
    /// Name of the interface its socket is bound to.
    pub output: Option<String>,
    /// The action for matching packets.
    pub action: Action,
    /// Routes found there do not count when their prefix has at most so many bits; 0: no default
    /// route.
    pub suppress_prefix_length: Option<u32>,
    /// True if it is for IPv6; a rule is for one version only.
    pub ipv6: bool,
}

/// The action of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// They look into this table. If it has no route, the next rule is tried.
    Lookup(u32),
    /// They go nowhere: senders get `ENETUNREACH` at once.
    Unreachable,
}

impl Rule {
    /// Packets between exactly these addresses.
    pub fn between(source: IpAddr, destination: IpAddr, table: u32) -> Self {
        Self {
            source: Some(source.into()),
            destination: Some(destination.into()),
            ..Self::all(PATH_RULE_PRIORITY, table, destination.is_ipv6())
        }
    }

    /// All packets.
    pub const fn all(priority: u32, table: u32, ipv6: bool) -> Self {
        Self {
            priority,
            inverted: false,
            source: None,
            destination: None,
            mark: None,
            input: None,
            output: None,
            action: Action::Lookup(table),
            suppress_prefix_length: None,
            ipv6,
        }
    }

    /// Returns the rule that keeps everything without `mark` from the main table.
    ///
    /// It and [`Self::pass`] name the kernel as their owner, since systemd-networkd and others remove rules
    /// that they do not know, but not those of the kernel. They are told by their other properties, which
    /// no rule of the kernel has.
    pub(in crate::netlink) fn block(mark: u32, ipv6: bool) -> Self {
        Self {
            inverted: true,
            mark: Some(mark),
            action: Action::Unreachable,
            ..Self::all(BLOCK_RULE_PRIORITY, 0, ipv6)
        }
    }

    /// Returns the rule by which everything without `mark` looks into the main table, before it enters the
    /// tunnel, for anything but a default route.
    ///
    /// It has to stay as long as a block: while only the block is there, the kernel finds no way to a
    /// gateway, and refuses every route via one. systemd-networkd then gives the interface up.
    pub(super) fn pass(mark: u32, ipv6: bool) -> Self {
        Self {
            inverted: true,
            mark: Some(mark),
            suppress_prefix_length: Some(0),
            ..Self::all(TUNNEL_RULE_PRIORITY - 1, MAIN_TABLE, ipv6)
        }
    }

    /// The owner that the rule has in the kernel (`FRA_PROTOCOL`).
    fn owner(&self) -> u8 {
        let is_pass = self.mark.is_some_and(|mark| *self == Self::pass(mark, self.ipv6));
        if is_pass || self.is_block() { KERNEL } else { PROTOCOL }
    }

    /// True if this rule is a block, of this or any other daemon ([`crate::netlink::Owned::add_block`]).
    pub fn is_block(&self) -> bool {
        self.mark.is_some_and(|mark| *self == Self::block(mark, self.ipv6))
    }

    /// The table that its packets look into, if there is one.
    pub const fn table(&self) -> Option<u32> {
        match self.action {
            Action::Lookup(table) => Some(table),
            Action::Unreachable => None,
        }
    }

    fn message(&self) -> Result<RuleMessage, Error> {
        let nets = [self.source, self.destination];
        if nets.iter().flatten().any(|net| net.addr().is_ipv6() != self.ipv6) {
            return Err(Error::MixedVersions(format!("rule {self}")));
        }
        let mut message = RuleMessage::default();
        let header = &mut message.header;
        let unspecified: IpAddr =
            if self.ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        header.family = family(unspecified);
        header.action = match self.action {
            Action::Lookup(_) => RuleAction::ToTable,
            Action::Unreachable => RuleAction::Unreachable,
        };
        header.table = self.table().and_then(|table| u8::try_from(table).ok()).unwrap_or_default();
        header.src_len = self.source.map_or(0, |net| net.prefix_len());
        header.dst_len = self.destination.map_or(0, |net| net.prefix_len());
        header.flags.set(RuleFlags::Invert, self.inverted);
        let attributes = &mut message.attributes;
        attributes.push(RuleAttribute::Priority(self.priority));
        attributes.extend(self.table().map(RuleAttribute::Table));
        attributes.push(RuleAttribute::Protocol(RouteProtocol::from(self.owner())));
        attributes.extend(self.source.map(|net| RuleAttribute::Source(net.network())));
        attributes.extend(self.destination.map(|net| RuleAttribute::Destination(net.network())));
        attributes.extend(self.mark.map(RuleAttribute::FwMark));
        attributes.extend(self.input.clone().map(RuleAttribute::Iifname));
        attributes.extend(self.output.clone().map(RuleAttribute::Oifname));
        attributes.extend(self.suppress_prefix_length.map(RuleAttribute::SuppressPrefixLen));
        Ok(message)
    }

    /// A rule that leads to a table or nowhere, and its owner.
    fn parse(message: &RuleMessage, ipv6: bool) -> Option<(Self, u8)> {
        let mut owner = 0;
        // The kernel leaves out the priority when it is 0.
        let mut rule = Self::all(0, message.header.table.into(), ipv6);
        match message.header.action {
            RuleAction::ToTable => {}
            RuleAction::Unreachable => rule.action = Action::Unreachable,
            _ => return None,
        }
        rule.inverted = message.header.flags.contains(RuleFlags::Invert);
        for attribute in &message.attributes {
            match attribute {
                RuleAttribute::Priority(priority) => rule.priority = *priority,
                RuleAttribute::Table(table) if rule.table().is_some() => {
                    rule.action = Action::Lookup(*table);
                }
                RuleAttribute::Protocol(protocol) => owner = u8::from(*protocol),
                RuleAttribute::Source(address) => {
                    rule.source = Some(IpNet::new(*address, message.header.src_len).ok()?);
                }
                RuleAttribute::Destination(address) => {
                    rule.destination = Some(IpNet::new(*address, message.header.dst_len).ok()?);
                }
                RuleAttribute::FwMark(mark) => rule.mark = Some(*mark),
                RuleAttribute::Iifname(name) => rule.input = Some(name.clone()),
                RuleAttribute::Oifname(name) => rule.output = Some(name.clone()),
                // The kernel shows -1 where there is none.
                RuleAttribute::SuppressPrefixLen(length) => {
                    rule.suppress_prefix_length = Some(*length).filter(|it| *it != u32::MAX);
                }
                _ => {}
            }
        }
        Some((rule, owner))
    }

    /// A rule of this program, of this or any other daemon; `None` for those of others.
    pub(in crate::netlink) fn parse_own(message: &RuleMessage, ipv6: bool) -> Option<Self> {
        let (rule, owner) = Self::parse(message, ipv6)?;
        (owner == rule.owner()).then_some(rule)
    }
}

/// The notation of `ip rule`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}from ", self.priority, if self.inverted { "not " } else { "" })?;
        match self.source {
            Some(source) => write!(f, "{source}")?,
            None => write!(f, "all")?,
        }
        if let Some(destination) = self.destination {
            write!(f, " to {destination}")?;
        }
        if let Some(mark) = self.mark {
            write!(f, " fwmark {mark:#x}")?;
        }
        for (name, value) in [("iif", &self.input), ("oif", &self.output)] {
            if let Some(value) = value {
                write!(f, " {name} {value}")?;
            }
        }
        match self.action {
            Action::Lookup(table) => write!(f, " lookup {table}")?,
            Action::Unreachable => write!(f, " unreachable")?,
        }
        self.suppress_prefix_length
            .map_or(Ok(()), |length| write!(f, " suppress_prefixlength {length}"))
    }
}

impl Netlink {
    /// Adds a policy rule, marked as ours. An equal one, whosever it is, is an error.
    pub async fn add_rule(&self, rule: &Rule) -> Result<(), Error> {
        let mut request = self.handle.rule().add();
        *request.message_mut() = rule.message()?;
        self.change(format_args!("add rule {rule}"), request.execute()).await
    }

    /// Adds a policy rule of ours, or takes over the equal one that a daemon left behind. An equal one of
    /// somebody else is an error.
    pub(in crate::netlink) async fn add_or_adopt_rule(&self, rule: &Rule) -> Result<(), Error> {
        match self.add_rule(rule).await {
            Err(error) if error.is_exists() && self.own_rules().await?.contains(rule) => Ok(()),
            result => result,
        }
    }

    /// Removes a policy rule of ours.
    pub async fn remove_rule(&self, rule: &Rule) -> Result<(), Error> {
        let request = self.handle.rule().del(rule.message()?);
        self.change(format_args!("remove rule {rule}"), request.execute()).await
    }

    /// Every rule that carries our mark, of this or any other daemon.
    pub async fn own_rules(&self) -> Result<Vec<Rule>, Error> {
        let mut rules = Vec::new();
        for (version, ipv6) in [(IpVersion::V4, false), (IpVersion::V6, true)] {
            let answers = self.handle.rule().get(version).execute();
            let own = |m| Rule::parse_own(&m, ipv6);
            rules.extend(self.collect("list rules", answers, own).await?);
        }
        Ok(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_parses_back_to_its_rule() {
        let between =
            Rule::between("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap(), 70_000);
        let everything = Rule {
            priority: 3,
            inverted: true,
            source: Some("2001:db8::/64".parse().unwrap()),
            destination: None,
            mark: Some(7),
            input: Some("lo".to_owned()),
            output: Some("eth0".to_owned()),
            action: Action::Lookup(100),
            suppress_prefix_length: Some(0),
            ipv6: true,
        };
        for rule in [between, everything, Rule::block(7, true), Rule::pass(7, false)] {
            let message = rule.message().unwrap();
            assert_eq!(Rule::parse_own(&message, rule.ipv6), Some(rule.clone()), "{rule}");
        }
    }

    #[test]
    fn rules_of_the_kernel_are_not_ours() {
        let main = Rule::all(32_766, 254, false);
        let mut message = main.message().unwrap();
        let kernel = RuleAttribute::Protocol(RouteProtocol::from(KERNEL));
        message.attributes.retain(|it| !matches!(it, RuleAttribute::Protocol(_)));
        message.attributes.push(kernel);
        assert_eq!(Rule::parse_own(&message, false), None);
    }

    #[test]
    fn it_is_written_as_iproute2_does() {
        let rule = Rule::between("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap(), 1000);
        assert_eq!(rule.to_string(), "4754: from 10.0.0.1/32 to 10.0.0.2/32 lookup 1000");
        let block = Rule::block(7, false).to_string();
        assert_eq!(block, "32765: not from all fwmark 0x7 unreachable");
    }

    #[test]
    fn mixed_versions_are_refused() {
        let rule = Rule::between("10.0.0.1".parse().unwrap(), "::2".parse().unwrap(), 1000);
        assert!(matches!(rule.message(), Err(Error::MixedVersions(_))));
    }
}
