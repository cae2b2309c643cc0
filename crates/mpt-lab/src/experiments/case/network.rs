//! The two hosts and the links between them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use ipnet::IpNet;
use mpt_link::{Change, Loss, Medium, Probability};

use super::{Action, Backend, CaseSpec, Laboratory};
use crate::console::interrupt::Interrupt;
use crate::emulator::{CablePlan, ChannelPlan, Counters, EmulatorPlan, EndPlan, Kernel, Links};
use crate::topology::{End, Host, Hosts};

/// Most links: their numbers are bytes of addresses, and 0 and 255 mean something else there.
const MOST_LINKS: usize = 254;

/// Two hosts and the links between them; gone when this is dropped.
#[derive(Debug)]
pub(super) struct Network {
    // First, because dropping it removes the devices from the hosts.
    links: Links,
    hosts: Hosts,
    names: Vec<String>,
    /// The channels of each link that lose everything when it is a black hole, with their loss otherwise.
    holes: Vec<Vec<(usize, Loss)>>,
}

impl Network {
    /// Makes hosts, links and addresses: every link has an IPv4 and an IPv6 network of its own.
    ///
    /// # Errors
    ///
    /// Returns an error if the specification is impossible, or the backend cannot realise it.
    pub(super) fn new(spec: &CaseSpec, lab: &Laboratory, interrupt: &Interrupt) -> Result<Self> {
        let links = &spec.network.links;
        ensure!(!links.is_empty(), "a network without links");
        ensure!(links.len() <= MOST_LINKS, "{} links, at most {MOST_LINKS}", links.len());
        let hosts = Hosts::new(End::A, End::B)?;
        let places = [End::A, End::B].map(|end| hosts.host(end).namespace().path());
        let (plan, holes) = plan(spec, &places);
        let made = Links::start(spec.backend, &plan, &lab.laboratory, interrupt)?;
        let names = links.iter().map(|link| link.name.clone()).collect();
        let network = Self { links: made, hosts, names, holes };
        network.number()?;
        Ok(network)
    }

    /// The host at one end.
    pub(super) fn host(&self, end: End) -> &Host {
        self.hosts.host(end)
    }

    /// Returns the names of the links, and of their devices at either host.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns what makes the links.
    pub(super) fn links(&self) -> &Links {
        &self.links
    }

    /// Waits for nothing: what has happened on the links so far.
    pub(super) fn counters(&self) -> Result<Counters> {
        self.links.counters()
    }

    /// Carries out an action on a link. Returns `false` for an action that is not about links.
    pub(super) fn act(&self, action: &Action) -> Result<bool> {
        match *action {
            Action::CarrierLost { link } => self.links.set_carrier(link, false)?,
            Action::CarrierBack { link } => self.links.set_carrier(link, true)?,
            Action::BlackHole { link } => self.swallow(link, true)?,
            Action::BlackHoleEnds { link } => self.swallow(link, false)?,
            Action::PathDown { .. } | Action::PathUp { .. } => return Ok(false),
        }
        Ok(true)
    }

    fn swallow(&self, link: usize, everything: bool) -> Result<()> {
        let holes = self.holes.get(link).with_context(|| format!("there is no link {link}"))?;
        for &(channel, loss) in holes {
            let loss = if everything { Loss::Bernoulli(Probability::ONE) } else { loss };
            self.links.change(channel, Change::Loss(loss))?;
        }
        Ok(())
    }

    /// Gives every device its addresses.
    fn number(&self) -> Result<()> {
        for end in [End::A, End::B] {
            self.hosts.number(end, "lo", &[])?;
            for (link, name) in self.names.iter().enumerate() {
                let nets = [(4, 24), (6, 64)]
                    .map(|(version, prefix)| IpNet::new(address(link, end, version), prefix));
                self.hosts.number(end, name, &nets.into_iter().collect::<Result<Vec<_>, _>>()?)?;
            }
        }
        Ok(())
    }
}

/// Returns the address of a host on a link; `version` is 4 or 6.
pub(super) fn address(link: usize, end: End, version: u8) -> IpAddr {
    let number = u8::try_from(link + 1).unwrap_or(u8::MAX);
    inside(71, number, end, version)
}

/// Returns an address of the laboratory: `10.<block>.<number>.<end>`, or the corresponding one of a unique local IPv6 network (RFC 4193).
pub(super) fn inside(block: u8, number: u8, end: End, version: u8) -> IpAddr {
    if version == 6 {
        let end = u16::from(end.number());
        return Ipv6Addr::new(0xfd00 | u16::from(block), 0, 0, u16::from(number), 0, 0, 0, end)
            .into();
    }
    Ipv4Addr::new(10, block, number, end.number()).into()
}

/// Returns what keeps the kernel from making the links of a specification that wants it to, if anything does.
pub(super) fn obstacle(spec: &CaseSpec) -> Option<String> {
    if spec.backend != Backend::Kernel {
        return None;
    }
    // Names of places do not matter here, as long as they differ.
    let (mut plan, holes) = plan(spec, &["a", "b"].map(PathBuf::from));
    for event in &spec.events {
        let Action::BlackHole { link } = event.action else { continue };
        for &(channel, _) in holes.get(link).into_iter().flatten() {
            if let Some(channel) = plan.channels.get_mut(channel) {
                channel
                    .schedule
                    .push((event.after, Change::Loss(Loss::Bernoulli(Probability::ONE))));
            }
        }
    }
    Kernel::supports(&plan).err()
}

/// The links as those who make them are told, and the channels that stand for a black hole on each link. Our emulator gets channels for
/// that behind the others, because a link may share all that it has; the kernel does not know shared ones anyway.
fn plan(spec: &CaseSpec, hosts: &[PathBuf; 2]) -> (EmulatorPlan, Vec<Vec<(usize, Loss)>>) {
    let channels = spec.network.channels.iter().map(|channel| ChannelPlan {
        params: channel.params,
        schedule: channel.schedule.clone(),
        medium: channel.medium.map(|it| Medium { access: it.access, burst: it.burst }),
        fair: channel.fair,
    });
    let mut plan = EmulatorPlan {
        seed: spec.seed.wrapping_add(u64::from(spec.repetition)),
        channels: channels.collect(),
        ..EmulatorPlan::default()
    };
    let mut holes = Vec::new();
    for (index, link) in spec.network.links.iter().enumerate() {
        let end = |namespace: &PathBuf| EndPlan {
            namespace: namespace.clone(),
            device: link.name.clone(),
            mtu: link.mtu,
        };
        let mut cable = CablePlan {
            name: link.name.clone(),
            ends: [end(&hosts[0]), end(&hosts[1])],
            forward: link.forward.clone(),
            backward: link.backward.clone(),
        };
        let swallows = |event: &super::Event| event.action == Action::BlackHole { link: index };
        let mut own = Vec::new();
        if spec.events.iter().any(swallows) {
            for direction in [&mut cable.forward, &mut cable.backward] {
                if spec.backend == Backend::Emulator {
                    direction.push(plan.channels.len());
                    plan.channels.push(ChannelPlan::default());
                }
                let last =
                    direction.last().and_then(|&last| Some((last, plan.channels.get(last)?)));
                own.extend(last.map(|(last, channel)| (last, channel.params.loss)));
            }
        }
        holes.push(own);
        plan.cables.push(cable);
    }
    (plan, holes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_tell_link_and_end() {
        assert_eq!(address(0, End::A, 4).to_string(), "10.71.1.1");
        assert_eq!(address(11, End::B, 4).to_string(), "10.71.12.2");
        assert_eq!(address(11, End::B, 6).to_string(), "fd47:0:0:c::2");
    }
}
