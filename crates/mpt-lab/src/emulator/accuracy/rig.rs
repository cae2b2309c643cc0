//! Two hosts and emulated cables between them.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::{Result, bail};
use ipnet::IpNet;
use mpt_link::Params;

use super::Laboratory;
use crate::emulator::{CablePlan, ChannelPlan, Counters, Emulator, EmulatorPlan, EndPlan};
use crate::topology::{End, Host, Hosts};

/// The usual MTU, in bytes.
pub(super) const MTU: u16 = 1500;
/// Bytes of an Ethernet frame of that MTU, and the payload that TCP (with time stamps) and UDP over IPv4 carry in it.
pub(super) const FRAME: f64 = 1514.0;
pub(super) const TCP_PAYLOAD: f64 = 1448.0;
pub(super) const UDP_PAYLOAD: usize = 1472;

/// Two hosts; gone, with the emulator, when this is dropped.
#[derive(Debug)]
pub(super) struct Rig {
    // First, because dropping it removes the devices from the hosts.
    emulator: Emulator,
    hosts: Hosts,
}

impl Rig {
    /// Lays one cable for each pair of parameters: those of its way from a to b, and of the way back.
    pub(super) fn new(lab: &Laboratory<'_>, cables: &[[Params; 2]], spin: bool) -> Result<Self> {
        let hosts = hosts()?;
        let plan = plan(&hosts, cables, spin);
        let emulator = Emulator::start(&plan, lab.executable, lab.interrupt)?;
        let rig = Self { emulator, hosts };
        number(&rig.hosts, cables.len())?;
        for cable in 0..cables.len() {
            rig.introduce(cable)?;
        }
        Ok(rig)
    }

    pub(super) fn host(&self, end: End) -> &Host {
        self.hosts.host(end)
    }

    pub(super) fn counters(&self) -> Result<Counters> {
        self.emulator.counters()
    }

    /// Sends a datagram each way, so that the hosts know each other's link addresses before anything is measured.
    fn introduce(&self, cable: usize) -> Result<()> {
        let socket = |end| {
            let address = SocketAddr::new(address(cable, end), 0);
            self.host(end).run(|| UdpSocket::bind(address))?.map_err(anyhow::Error::from)
        };
        let (a, b) = (socket(End::A)?, socket(End::B)?);
        b.set_read_timeout(Some(Duration::from_millis(200)))?;
        a.set_read_timeout(Some(Duration::from_millis(200)))?;
        // The datagrams may be lost.
        for _ in 0..20 {
            a.send_to(&[0], b.local_addr()?)?;
            if let Ok((_, from)) = b.recv_from(&mut [0; 8]) {
                b.send_to(&[0], from)?;
                if a.recv(&mut [0; 8]).is_ok() {
                    return Ok(());
                }
            }
        }
        bail!("nothing passes cable {cable}")
    }
}

/// The hosts of [`Rig::new`], without anything between them.
pub(super) fn hosts() -> Result<Hosts> {
    Hosts::new("accuracy-a", "accuracy-b")
}

/// Returns the plan of [`Rig::new`].
pub(super) fn plan(hosts: &Hosts, cables: &[[Params; 2]], spin: bool) -> EmulatorPlan {
    let channel = |&params| ChannelPlan { params, ..ChannelPlan::default() };
    let end = |end, number| EndPlan {
        namespace: hosts.host(end).namespace().path(),
        device: device(number),
        mtu: MTU,
    };
    let cable = |number| CablePlan {
        name: device(number),
        ends: [end(End::A, number), end(End::B, number)],
        forward: vec![2 * number],
        backward: vec![2 * number + 1],
    };
    EmulatorPlan {
        seed: 1,
        spin,
        channels: cables.iter().flatten().map(channel).collect(),
        cables: (0..cables.len()).map(cable).collect(),
        ..EmulatorPlan::default()
    }
}

/// Gives the devices of that many cables their addresses.
pub(super) fn number(hosts: &Hosts, cables: usize) -> Result<()> {
    for end in [End::A, End::B] {
        for cable in 0..cables {
            hosts.number(end, &device(cable), &[IpNet::new(address(cable, end), 24)?])?;
        }
    }
    Ok(())
}

fn device(cable: usize) -> String {
    format!("cable{cable}")
}

/// Returns the address of an end of a cable.
pub(super) fn address(cable: usize, end: End) -> IpAddr {
    IpAddr::from([10, 72, cable as u8, end.number()])
}
