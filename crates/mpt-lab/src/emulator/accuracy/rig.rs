//! Two hosts and emulated cables between them.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::{Result, bail};
use ipnet::IpNet;
use mpt_link::Params;
use mpt_linux::netlink::Netlink;

use super::Laboratory;
use crate::emulator::{CablePlan, ChannelPlan, Counters, Emulator, EmulatorPlan, EndPlan};
use crate::topology::{End, Host};

/// The usual MTU, in bytes.
pub(super) const MTU: u16 = 1500;
/// Bytes of an Ethernet frame of that MTU, and what TCP (with time stamps) and UDP over IPv4 carry in it.
pub(super) const FRAME: f64 = 1514.0;
pub(super) const TCP_PAYLOAD: f64 = 1448.0;
pub(super) const UDP_PAYLOAD: usize = 1472;

/// Two hosts; gone, with the emulator, when this is dropped.
#[derive(Debug)]
pub(super) struct Rig {
    emulator: Emulator,
    a: Host,
    b: Host,
}

impl Rig {
    /// One cable for each pair of parameters: of its way from a to b, and of the way back.
    pub(super) fn new(lab: &Laboratory<'_>, cables: &[[Params; 2]], spin: bool) -> Result<Self> {
        let (a, b) = (Host::new("accuracy-a")?, Host::new("accuracy-b")?);
        let plan = plan(&a, &b, cables, spin);
        let emulator = Emulator::start(&plan, lab.executable, lab.interrupt)?;
        let rig = Self { emulator, a, b };
        number(&rig.a, &rig.b, cables.len())?;
        for cable in 0..cables.len() {
            rig.introduce(cable)?;
        }
        Ok(rig)
    }

    pub(super) fn host(&self, end: End) -> &Host {
        match end {
            End::A => &self.a,
            End::B => &self.b,
        }
    }

    pub(super) fn counters(&self) -> Result<Counters> {
        self.emulator.counters()
    }

    /// A datagram each way, so that the hosts know each other's link addresses before anything is measured.
    fn introduce(&self, cable: usize) -> Result<()> {
        let socket = |end| {
            let address = SocketAddr::new(address(cable, end), 0);
            self.host(end).run(|| UdpSocket::bind(address))?.map_err(anyhow::Error::from)
        };
        let (a, b) = (socket(End::A)?, socket(End::B)?);
        b.set_read_timeout(Some(Duration::from_millis(200)))?;
        a.set_read_timeout(Some(Duration::from_millis(200)))?;
        // Either may be lost.
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

/// The plan of [`Rig::new`].
pub(super) fn plan(a: &Host, b: &Host, cables: &[[Params; 2]], spin: bool) -> EmulatorPlan {
    let channel = |&params| ChannelPlan { params, ..ChannelPlan::default() };
    let end = |host: &Host, number| EndPlan {
        namespace: host.namespace().path(),
        device: device(number),
        mtu: MTU,
    };
    let cable = |number| CablePlan {
        name: device(number),
        ends: [end(a, number), end(b, number)],
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
pub(super) fn number(a: &Host, b: &Host, cables: usize) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        for (host, end) in [(a, End::A), (b, End::B)] {
            let netlink = Netlink::connect_in(host.namespace())?;
            for cable in 0..cables {
                let index = netlink.link(&device(cable)).await?.index;
                netlink.add_address(index, IpNet::new(address(cable, end), 24)?).await?;
            }
        }
        Ok(())
    })
}

fn device(cable: usize) -> String {
    format!("cable{cable}")
}

/// The address of an end of a cable.
pub(super) fn address(cable: usize, end: End) -> IpAddr {
    IpAddr::from([10, 72, cable as u8, end.number()])
}
