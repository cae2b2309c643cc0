//! Two hosts, and lines between them that can break in every way.
//!
//! ```text
//! host a                           namespace "middle"                            host b
//! pathN ═══ aN [bridge "leftN"] leftN ═══ rightN [bridge "rightN"] bN ═══ pathN
//! ```
//!
//! Each `═══` is a veth pair. Queue and rate (a token bucket filter) are at `leftN` and `rightN`, in the middle: packets of the hosts pass their own
//! interfaces at once, and a line that breaks behind its queue loses the packets in it.

pub(super) mod nat;
mod switches;

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ipnet::IpNet;
use mpt_linux::netlink::VethEnd;
use mpt_linux::netns;

use crate::topology::{End, Host, Hosts, Side};
use crate::traffic::Moment;
use switches::Switches;

/// The longest time that the kernel may take to see that a cable has two ends.
const CARRIER: Duration = Duration::from_secs(5);

/// The properties of every line of a network.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineSpec {
    /// Rate in each direction, in Mbit/s.
    pub(super) rate: u32,
    /// Longest wait of a packet in the queue in front of it.
    pub(super) queue: Duration,
}

impl LineSpec {
    /// The line of the demonstration.
    pub(super) const USUAL: Self = Self { rate: 100, queue: Duration::from_millis(100) };
}

/// The middle between the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Middle {
    /// Bridges, as in the picture above.
    Bridges,
    /// Nothing yet: `aN` has the address to which host a sends, `bN` the one from which host b hears it. Another program has to carry the packets
    /// from one to the other.
    Gap,
}

/// A line; interfaces are those of the middle, by index.
#[derive(Debug)]
struct Line {
    number: u8,
    /// `aN`, opposite of host a.
    a: u32,
    /// `bN`, opposite of host b.
    b: u32,
}

/// Two hosts and the lines between them; gone when this is dropped.
#[derive(Debug)]
pub(super) struct Network {
    switches: Switches,
    middle: Side,
    hosts: Hosts,
    kind: Middle,
    lines: Vec<Line>,
}

impl Network {
    /// Makes the hosts with `count` equal lines, numbered from 0 here and from 1 in every name.
    pub(super) fn new(count: u8, spec: LineSpec, kind: Middle) -> Result<Self> {
        let hosts = Hosts::new(End::A, End::B)?;
        let middle = Side::new("middle", hosts.runtime())?;
        let switches = hosts.runtime().block_on(Switches::new(middle.host.namespace()))?;
        let mut network = Self { switches, middle, hosts, kind, lines: Vec::new() };
        // Before any port, and without a gap too, so that no interface has the index of the other end of its cable: the kernel
        // takes such an interface for a physical one, and reports changes of its carrier no more than once a second.
        for number in 1..=count {
            for side in ["left", "right"] {
                let name = format!("b{side}{number}");
                network.hosts.runtime().block_on(network.switches.add_bridge(&name))?;
            }
        }
        for number in 1..=count {
            let line = network.hosts.runtime().block_on(network.lay(number))?;
            network.lines.push(line);
            network.shape(number, spec)?;
        }
        network.hosts.runtime().block_on(network.wait_for_carriers())?;
        Ok(network)
    }

    /// The host at one end.
    pub(super) fn host(&self, end: End) -> &Host {
        self.hosts.host(end)
    }

    /// Returns what stands between them.
    pub(super) fn middle(&self) -> &Host {
        &self.middle.host
    }

    /// Returns how many lines there are.
    pub(super) fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Name of a line's interface at either host.
    pub(super) fn interface(line: usize) -> String {
        format!("path{}", line + 1)
    }

    /// Returns the address of a host on a line.
    pub(super) fn address(&self, line: usize, end: End) -> IpAddr {
        address(self.kind, number(line), end)
    }

    /// Returns the address at which a host finds the other one, or the address that stands for it.
    pub(super) fn remote(&self, line: usize, end: End) -> IpAddr {
        match self.kind {
            Middle::Bridges => self.address(line, end.other()),
            Middle::Gap => gap_address(number(line), end),
        }
    }

    /// Returns the kernel index of a host's interface on a line.
    pub(super) fn index(&self, line: usize, end: End) -> Result<u32> {
        self.hosts.runtime().block_on(self.hosts.side(end).index(&Self::interface(line)))
    }

    /// Takes the carrier of a line away from one host, or gives it back, and returns the time. The other host keeps its own.
    pub(super) fn set_carrier(&self, line: usize, end: End, there: bool) -> Result<Moment> {
        let moment = Moment::now();
        self.hosts.runtime().block_on(self.switches.set_up(self.port(line, end), there))?;
        Ok(moment)
    }

    /// Lets a line lose every packet towards one host, behind its queue and without a trace, or none. Returns the time.
    pub(super) fn set_flow(&self, line: usize, towards: End, flows: bool) -> Result<Moment> {
        let moment = Moment::now();
        self.hosts.runtime().block_on(self.switches.set_flow(self.port(line, towards), flows))?;
        Ok(moment)
    }

    /// Lets a line lose every packet in both directions, or none. Returns the time.
    pub(super) fn set_flow_both(&self, line: usize, flows: bool) -> Result<Moment> {
        let moment = self.set_flow(line, End::A, flows)?;
        self.set_flow(line, End::B, flows)?;
        Ok(moment)
    }

    /// Exchanges the address of host a on a line, as a network to which it roams would. Returns the time.
    pub(super) fn renumber(&self, line: usize, last_byte: u8) -> Result<Moment> {
        let old = self.address(line, End::A);
        let new = IpAddr::from([10, 71, number(line), last_byte]);
        let a = self.hosts.side(End::A);
        self.hosts.runtime().block_on(async {
            let index = a.index(&Self::interface(line)).await?;
            let moment = Moment::now();
            a.netlink.remove_address(index, IpNet::new(old, 24)?).await?;
            a.netlink.add_address(index, IpNet::new(new, 24)?).await?;
            Ok(moment)
        })
    }

    fn port(&self, line: usize, end: End) -> u32 {
        match end {
            End::A => self.lines[line].a,
            End::B => self.lines[line].b,
        }
    }

    /// Lays the cables of one line.
    async fn lay(&self, number: u8) -> Result<Line> {
        let interface = Self::interface(usize::from(number) - 1);
        let middle = self.middle.host.namespace();
        for end in [End::A, End::B] {
            let side = self.hosts.side(end);
            let (here, there) = (side.host.namespace(), format!("{end}{number}"));
            let there = VethEnd { name: &there, namespace: middle };
            side.netlink.add_veth(VethEnd { name: &interface, namespace: here }, there).await?;
            let net = IpNet::new(address(self.kind, number, end), 24)?;
            side.number(&interface, &[net]).await?;
            // Each datagram by itself where it is captured, as on a real line.
            side.host.do_without(&interface, &["tx-udp-segmentation"])?;
        }
        let a = self.middle.index(&format!("a{number}")).await?;
        let b = self.middle.index(&format!("b{number}")).await?;
        let line = Line { number, a, b };
        if self.kind == Middle::Gap {
            for (port, end) in [(a, End::A), (b, End::B)] {
                let net = IpNet::new(gap_address(number, end), 24)?;
                self.middle.netlink.add_address(port, net).await?;
                self.middle.netlink.set_up(port).await?;
            }
            return Ok(line);
        }
        let names = [format!("left{number}"), format!("right{number}")];
        let [left, right] = names.each_ref().map(|name| VethEnd { name, namespace: middle });
        self.middle.netlink.add_veth(left, right).await?;
        for (name, outside) in names.iter().zip([a, b]) {
            let bridge = self.middle.index(&format!("b{name}")).await?;
            self.switches.add_port(outside, bridge).await?;
            self.switches.add_port(self.middle.index(name).await?, bridge).await?;
        }
        Ok(line)
    }

    /// Gives a line its rate and its queue.
    fn shape(&self, number: u8, spec: LineSpec) -> Result<()> {
        let (rate, queue) = (format!("{}mbit", spec.rate), format!("{}ms", spec.queue.as_millis()));
        let sides = match self.kind {
            Middle::Bridges => [format!("left{number}"), format!("right{number}")],
            Middle::Gap => [format!("a{number}"), format!("b{number}")],
        };
        for side in sides {
            let bucket = ["rate", &rate, "burst", "32kbit", "latency", &queue];
            let add = ["qdisc", "add", "dev", &side, "root", "tbf"];
            netns::tc(self.middle().namespace(), &[&add, bucket.as_slice()].concat())?;
        }
        Ok(())
    }

    /// Waits for the carriers: a line without one would lose the first packets.
    async fn wait_for_carriers(&self) -> Result<()> {
        for end in [End::A, End::B] {
            for line in &self.lines {
                let name = Self::interface(usize::from(line.number) - 1);
                let start = Instant::now();
                while !self.hosts.side(end).netlink.link(&name).await?.running {
                    if start.elapsed() > CARRIER {
                        bail!("{name} at host {end} has no carrier");
                    }
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
        }
        Ok(())
    }
}

/// The number of a line in names and addresses.
fn number(line: usize) -> u8 {
    u8::try_from(line + 1).unwrap_or(u8::MAX)
}

fn address(kind: Middle, number: u8, end: End) -> IpAddr {
    let net = if kind == Middle::Gap && end == End::B { 73 } else { 71 };
    Ipv4Addr::new(10, net, number, end.number()).into()
}

/// Returns the address in the middle of a line with a gap, on the side of this end.
fn gap_address(number: u8, end: End) -> IpAddr {
    let net = if end == End::B { 73 } else { 71 };
    Ipv4Addr::new(10, net, number, end.other().number()).into()
}
