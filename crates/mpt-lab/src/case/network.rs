//! The two hosts and the links between them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anyhow::{Context, Result, ensure};
use ipnet::IpNet;
use mpt_link::{Change, Loss, Medium, Probability};
use mpt_linux::netlink::Netlink;
use tokio::runtime::Runtime;

use super::{Action, Backend, CaseSpec, Laboratory};
use crate::emulator::{CablePlan, ChannelPlan, Counters, Emulator, EmulatorPlan, EndPlan};
use crate::interrupt::Interrupt;
use crate::topology::{End, Host};

/// Most links: their numbers are bytes of addresses, and 0 and 255 mean something else there.
const MOST_LINKS: usize = 254;

/// Two hosts and the links between them; gone when this is dropped.
#[derive(Debug)]
pub(super) struct Network {
    // First, because dropping it removes the devices from the hosts.
    links: Emulator,
    a: Host,
    b: Host,
    names: Vec<String>,
    /// Of each link: the channels that swallow everything when it is a black hole.
    holes: Vec<Vec<usize>>,
    // Netlink is asynchronous, the laboratory is not.
    runtime: Runtime,
}

impl Network {
    /// Makes hosts, links and addresses: every link has an IPv4 and an IPv6 network of its own.
    ///
    /// # Errors
    ///
    /// A specification that cannot be, or a backend that cannot do it.
    pub(super) fn new(spec: &CaseSpec, lab: &Laboratory, interrupt: &Interrupt) -> Result<Self> {
        let links = &spec.network.links;
        ensure!(!links.is_empty(), "a network without links");
        ensure!(links.len() <= MOST_LINKS, "{} links, at most {MOST_LINKS}", links.len());
        let (a, b) = (Host::new(End::A)?, Host::new(End::B)?);
        let (plan, holes) = plan(spec, &a, &b);
        let made = match spec.backend {
            Backend::Emulator => Emulator::start(&plan, &lab.laboratory, interrupt)?,
            Backend::Kernel => anyhow::bail!("the kernel's links"),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let names = links.iter().map(|link| link.name.clone()).collect();
        let network = Self { links: made, a, b, names, holes, runtime };
        network.runtime.block_on(network.number())?;
        Ok(network)
    }

    /// The host at one end.
    pub(super) fn host(&self, end: End) -> &Host {
        match end {
            End::A => &self.a,
            End::B => &self.b,
        }
    }

    /// Names of the links, and of their devices at either host.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// What makes the links.
    pub(super) fn links(&self) -> &Emulator {
        &self.links
    }

    /// Waits for nothing: what has happened on the links so far.
    pub(super) fn counters(&self) -> Result<Counters> {
        self.links.counters()
    }

    /// Does what can be done to a link; `false` for an action that is not about links.
    pub(super) fn act(&self, action: &Action) -> Result<bool> {
        match *action {
            Action::CarrierLost { link } => self.links.set_carrier(link, false)?,
            Action::CarrierBack { link } => self.links.set_carrier(link, true)?,
            Action::BlackHole { link } => {
                self.set_loss(link, Loss::Bernoulli(Probability::ONE))?;
            }
            Action::BlackHoleEnds { link } => self.set_loss(link, Loss::None)?,
            Action::PathDown { .. } | Action::PathUp { .. } => return Ok(false),
        }
        Ok(true)
    }

    fn set_loss(&self, link: usize, loss: Loss) -> Result<()> {
        let holes = self.holes.get(link).with_context(|| format!("there is no link {link}"))?;
        for &channel in holes {
            self.links.change(channel, Change::Loss(loss))?;
        }
        Ok(())
    }

    /// Gives every device its addresses.
    async fn number(&self) -> Result<()> {
        for (host, end) in [(&self.a, End::A), (&self.b, End::B)] {
            let netlink = Netlink::connect_in(host.namespace())?;
            netlink.set_up(netlink.link("lo").await?.index).await?;
            for (link, name) in self.names.iter().enumerate() {
                let index = netlink.link(name).await?.index;
                for (version, prefix) in [(4, 24), (6, 64)] {
                    let net = IpNet::new(address(link, end, version), prefix)?;
                    netlink.add_address(index, net).await?;
                }
            }
        }
        Ok(())
    }
}

/// Address of a host on a link; `version` is 4 or 6.
pub(super) fn address(link: usize, end: End, version: u8) -> IpAddr {
    let number = u8::try_from(link + 1).unwrap_or(u8::MAX);
    inside(71, number, end, version)
}

/// An address of the laboratory: `10.<block>.<number>.<end>`, or the same as of a unique local IPv6 network (RFC 4193).
pub(super) fn inside(block: u8, number: u8, end: End, version: u8) -> IpAddr {
    if version == 6 {
        let end = u16::from(end.number());
        return Ipv6Addr::new(0xfd00 | u16::from(block), 0, 0, u16::from(number), 0, 0, 0, end)
            .into();
    }
    Ipv4Addr::new(10, block, number, end.number()).into()
}

/// The links as the emulator is told, and the channels that stand for a black hole on each link. Those are put behind the others of
/// the links that need them, and are perfect otherwise: a link may share all its other channels.
fn plan(spec: &CaseSpec, a: &Host, b: &Host) -> (EmulatorPlan, Vec<Vec<usize>>) {
    let channels = spec.network.channels.iter().map(|channel| ChannelPlan {
        params: channel.params,
        schedule: channel.schedule.clone(),
        medium: channel.medium.map(|it| Medium { access: it.access, burst: it.burst }),
    });
    let mut plan = EmulatorPlan {
        seed: spec.seed.wrapping_add(u64::from(spec.repetition)),
        channels: channels.collect(),
        ..EmulatorPlan::default()
    };
    let mut holes = Vec::new();
    for (index, link) in spec.network.links.iter().enumerate() {
        let end = |host: &Host| EndPlan {
            namespace: host.namespace().path(),
            device: link.name.clone(),
            mtu: link.mtu,
        };
        let mut cable = CablePlan {
            name: link.name.clone(),
            ends: [end(a), end(b)],
            forward: link.forward.clone(),
            backward: link.backward.clone(),
        };
        let swallows = |event: &super::Event| match event.action {
            Action::BlackHole { link } => link == index,
            _ => false,
        };
        let mut own = Vec::new();
        if spec.events.iter().any(swallows) {
            for direction in [&mut cable.forward, &mut cable.backward] {
                own.push(plan.channels.len());
                direction.push(plan.channels.len());
                plan.channels.push(ChannelPlan::default());
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
