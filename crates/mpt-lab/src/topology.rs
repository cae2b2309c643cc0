//! Two hosts, each a network namespace, and the paths between them.

use std::fmt;
use std::net::IpAddr;
use std::process::{Child, Command};

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
use mpt_linux::netlink::{Netlink, VethEnd};
use mpt_linux::netns::{self, Namespace};

use crate::process::Process;

/// One of the two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Where the traffic comes from.
    A,
    /// Where it goes to.
    B,
}

impl End {
    /// The last byte of its addresses.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::A => 1,
            Self::B => 2,
        }
    }

    /// The one opposite.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "a",
            Self::B => "b",
        })
    }
}

/// What one path is like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathSpec {
    /// Rate in Mbit/s of a token bucket at either end; `None`: as fast as the machine.
    pub(crate) shaped: Option<u32>,
    /// Whether its devices take TCP super-packets (TSO, GSO).
    pub(crate) segmentation_offload: bool,
}

/// A path: a veth pair with a network of its own.
#[derive(Debug)]
pub(crate) struct Path {
    /// Its name, which is also that of its device at either end.
    pub(crate) name: String,
    number: u8,
}

impl Path {
    /// The address of one of its ends.
    pub(crate) fn address(&self, end: End) -> IpAddr {
        IpAddr::from([10, 71, self.number, end.number()])
    }
}

/// A host; gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Host {
    namespace: Namespace,
}

impl Host {
    /// A host without any interface but the loopback, which is down.
    pub(crate) fn new(name: impl fmt::Display) -> Result<Self> {
        // The process id keeps laboratories that run at the same time apart.
        let namespace = Namespace::create(&format!("mpt-lab-{}-{name}", std::process::id()))?;
        Ok(Self { namespace })
    }

    /// Where it lives.
    pub(crate) fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Runs `work` on a thread of this host, to its end. Sockets opened there stay there.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R> {
        Ok(netns::run_in(&self.namespace, work)?)
    }

    /// Starts a program on this host; it is killed when what this gives back is dropped.
    pub(crate) fn spawn(&self, command: Command) -> Result<Process> {
        self.spawn_child(command).map(Process)
    }

    /// Starts a program on this host; whoever calls has to wait for it.
    pub(crate) fn spawn_child(&self, mut command: Command) -> Result<Child> {
        let program = command.get_program().to_owned();
        let started = self.namespace.enter(&mut command)?.spawn();
        started.with_context(|| format!("cannot run {}", program.display()))
    }

    /// Gives this end of a path its rate and its offloads.
    fn configure(&self, path: &Path, spec: PathSpec) -> Result<()> {
        let name = path.name.as_str();
        if let Some(rate) = spec.shaped {
            let rate = format!("{rate}mbit");
            let bucket = ["rate", &rate, "burst", "32kbit", "latency", "100ms"];
            let qdisc = [&["qdisc", "add", "dev", name, "root", "tbf"], bucket.as_slice()].concat();
            netns::tc(&self.namespace, &qdisc)?;
        }
        if !spec.segmentation_offload {
            let mut ethtool = self.namespace.command("ethtool")?;
            ethtool.args(["-K", name, "tso", "off", "gso", "off"]);
            let output = ethtool.output().context("cannot run ethtool")?;
            if !output.status.success() {
                bail!("ethtool -K {name}: {}", String::from_utf8_lossy(&output.stderr).trim());
            }
        }
        Ok(())
    }
}

/// Two hosts and the paths between them; gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Topology {
    a: Host,
    b: Host,
    paths: Vec<Path>,
}

impl Topology {
    /// Makes the hosts and as many paths as there are specifications.
    pub(crate) fn new(specs: &[PathSpec]) -> Result<Self> {
        let name = |number| Path { name: format!("path{number}"), number };
        let paths = (1..).zip(specs).map(|(number, _)| name(number)).collect();
        let topology = Self { a: Host::new(End::A)?, b: Host::new(End::B)?, paths };
        // Netlink is asynchronous, the laboratory is not.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(topology.connect())?;
        for (path, &spec) in topology.paths.iter().zip(specs) {
            topology.a.configure(path, spec)?;
            topology.b.configure(path, spec)?;
        }
        Ok(topology)
    }

    /// The host at one end.
    pub(crate) fn host(&self, end: End) -> &Host {
        match end {
            End::A => &self.a,
            End::B => &self.b,
        }
    }

    /// The paths, in the order of their specifications.
    pub(crate) fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// Lays the cables and numbers their ends.
    async fn connect(&self) -> Result<()> {
        let (a, b) = (&self.a.namespace, &self.b.namespace);
        let netlink = [Netlink::connect_in(a)?, Netlink::connect_in(b)?];
        for path in &self.paths {
            let name = &path.name;
            let ends = (VethEnd { name, namespace: a }, VethEnd { name, namespace: b });
            netlink[0].add_veth(ends.0, ends.1).await?;
            for (netlink, end) in netlink.iter().zip([End::A, End::B]) {
                let index = netlink.link(name).await?.index;
                netlink.add_address(index, IpNet::new(path.address(end), 24)?).await?;
                netlink.set_up(index).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::interrupt::Interrupt;
    use crate::iperf::{self, Load, Server};

    #[test]
    fn ends_face_each_other() {
        let path = Path { name: "path3".into(), number: 3 };
        assert_eq!(path.address(End::A), IpAddr::from([10, 71, 3, 1]));
        assert_eq!(path.address(End::A.other()), IpAddr::from([10, 71, 3, 2]));
        assert_eq!(End::B.other(), End::A);
    }

    #[test]
    fn a_shaped_path_carries_its_rate_and_is_removed_at_the_end() {
        let interrupt = Interrupt::default();
        let spec = |rate| PathSpec { shaped: Some(rate), segmentation_offload: true };
        let topology = Topology::new(&[spec(20), spec(40)]).unwrap();
        let name = topology.a.namespace.name().to_owned();
        let _server = Server::start(&topology.b, &interrupt).unwrap();
        for (path, rate) in topology.paths().iter().zip([20e6, 40e6]) {
            let (to, load) = (path.address(End::B), Load::Tcp { flows: 1 });
            let transfer = |time| iperf::transfer(&topology.a, to, load, time, &interrupt);
            let goodput = transfer(Duration::from_secs(2)).unwrap().bit_rate();
            // 1448 bytes of payload in a frame of 1514; the bucket and the queue (100 ms) may
            // help a little.
            assert!((0.85..1.0).contains(&(goodput / rate)), "{goodput} of {rate}");
        }
        drop(topology);
        assert!(!std::path::Path::new("/run/netns").join(name).exists());
    }
}
