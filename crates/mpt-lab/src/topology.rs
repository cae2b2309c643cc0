//! Two hosts, each a network namespace, and the paths between them.

use std::fmt;
use std::net::IpAddr;
use std::process::{Child, Command};

use anyhow::{Context, Result, bail};
use mpt_linux::netns::Namespace;

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
    fn new(end: End) -> Result<Self> {
        // The process id keeps laboratories that run at the same time apart.
        let namespace = Namespace::create(&format!("mpt-lab-{}-{end}", std::process::id()))?;
        let host = Self { namespace };
        host.run("ip", "link set dev lo up")?;
        Ok(host)
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

    /// Runs a program of the system to its end; `arguments` are separated by spaces.
    fn run(&self, program: &str, arguments: &str) -> Result<()> {
        let mut command = self.namespace.command(program)?;
        let output = command
            .args(arguments.split(' '))
            .output()
            .with_context(|| format!("cannot run {program}"))?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("{program} {arguments}: {}", error.trim());
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
        let mut topology = Self { a: Host::new(End::A)?, b: Host::new(End::B)?, paths: Vec::new() };
        for (number, &spec) in (1..).zip(specs) {
            let path = Path { name: format!("path{number}"), number };
            topology.connect(&path, spec).with_context(|| path.name.clone())?;
            topology.paths.push(path);
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

    fn connect(&self, path: &Path, spec: PathSpec) -> Result<()> {
        let name = &path.name;
        let there = self.b.namespace.path();
        let there = there.display();
        self.a
            .run("ip", &format!("link add name {name} type veth peer name {name} netns {there}"))?;
        for end in [End::A, End::B] {
            let host = self.host(end);
            host.run("ip", &format!("address add {}/24 dev {name}", path.address(end)))?;
            host.run("ip", &format!("link set dev {name} up"))?;
            if let Some(rate) = spec.shaped {
                let bucket = format!("rate {rate}mbit burst 32kbit latency 100ms");
                host.run("tc", &format!("qdisc add dev {name} root tbf {bucket}"))?;
            }
            if !spec.segmentation_offload {
                host.run("ethtool", &format!("-K {name} tso off gso off"))?;
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
