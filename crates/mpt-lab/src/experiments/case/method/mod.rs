//! The ways in which traffic uses the links: over one, over all by Multipath TCP, or through a tunnel.

pub(crate) mod adapter;
mod mptcp;
mod tunnel;

use std::net::IpAddr;
use std::path::Path;

use anyhow::{Result, bail};
use mpt_api::Snapshot;

use super::network::{self, Network};
use super::observation::counters::{self, Counters};
use super::observation::cpu::Watched;
use super::{Action, CaseSpec, Laboratory, Method};
use crate::console::interrupt::Interrupt;
use crate::topology::End;

pub(super) use adapter::Adapter;

/// The carrier of the traffic; whatever it has started ends when this is dropped.
#[derive(Debug)]
pub(super) enum Carrier {
    /// The first link alone.
    Plain,
    /// Multipath TCP over all links.
    Mptcp {
        /// The number of links.
        links: usize,
    },
    /// A tunnel of mpt.
    Tunnel(tunnel::Tunnel),
    /// A tunnel by another program.
    Adapter(adapter::Running),
}

impl Carrier {
    /// Starts it and waits until it carries.
    pub(super) fn start(
        spec: &CaseSpec,
        network: &Network,
        lab: &Laboratory,
        directory: &Path,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        Ok(match &spec.method {
            Method::Plain => Self::Plain,
            Method::Mptcp => {
                mptcp::configure(network)?;
                Self::Mptcp { links: network.names().len() }
            }
            Method::Tunnel(tunnel) => Self::Tunnel(tunnel::Tunnel::start(
                tunnel, network, &lab.mptd, directory, interrupt,
            )?),
            Method::Adapter { name } => {
                let adapter = Adapter::load(name, lab.adapters.as_deref())?;
                Self::Adapter(adapter.start(|end| network.host(end), directory, interrupt)?)
            }
        })
    }

    /// Returns the address of an end that the traffic is to use.
    pub(super) fn address(&self, end: End) -> IpAddr {
        match self {
            Self::Plain | Self::Mptcp { .. } => network::address(0, end, 4),
            Self::Tunnel(tunnel) => tunnel.address(end),
            Self::Adapter(_) => adapter::address(end),
        }
    }

    /// Returns the address of an end on the second connection of mpt's tunnel, if it has one.
    pub(super) fn second_address(&self, end: End) -> Option<IpAddr> {
        match self {
            Self::Tunnel(tunnel) => tunnel.second_address(end),
            Self::Plain | Self::Mptcp { .. } | Self::Adapter(_) => None,
        }
    }

    /// Returns the snapshot of the daemon of host a, if the carrier is a tunnel of mpt.
    pub(super) fn snapshot(&self) -> Result<Option<Snapshot>> {
        match self {
            Self::Tunnel(tunnel) => tunnel.daemon(End::A).snapshot().map(Some),
            Self::Plain | Self::Mptcp { .. } | Self::Adapter(_) => Ok(None),
        }
    }

    /// Returns the daemons.
    pub(super) fn processes(&self) -> Vec<Watched> {
        match self {
            Self::Plain | Self::Mptcp { .. } => Vec::new(),
            Self::Tunnel(tunnel) => tunnel.processes(),
            Self::Adapter(adapter) => adapter.processes(),
        }
    }

    /// Reads the counters of the daemons. Returns the version of mptd.
    pub(super) fn read(&self, counters: &mut Counters) -> Result<Option<String>> {
        let Self::Tunnel(tunnel) = self else { return Ok(None) };
        let mut version = None;
        for end in [End::A, End::B] {
            let snapshot = tunnel.daemon(end).snapshot()?;
            counters::of_daemon(&snapshot, end, counters);
            version = Some(snapshot.daemon.program);
        }
        Ok(version)
    }

    /// Carries out an action of an administrator.
    pub(super) fn act(&self, action: &Action, network: &Network) -> Result<()> {
        let (link, up) = match *action {
            Action::PathDown { link } => (link, false),
            Action::PathUp { link } => (link, true),
            ref other => bail!("\"{other}\" is not about paths"),
        };
        let Self::Tunnel(tunnel) = self else { bail!("only a tunnel of ours has paths") };
        tunnel.set_path(link, up, network)
    }

    /// Returns the reasons why a figure is not that of this method, from the growth of the counters; an error if the method was not used at all.
    pub(super) fn check(&self, grown: &Counters) -> Result<Vec<String>> {
        match self {
            Self::Mptcp { links } => mptcp::check(*links, grown),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns what the daemons have said last, for errors.
    pub(super) fn logs(&self) -> String {
        match self {
            Self::Plain | Self::Mptcp { .. } => String::new(),
            Self::Tunnel(tunnel) => tunnel.logs(),
            Self::Adapter(adapter) => adapter.logs(),
        }
    }
}
