//! Two hosts, each a network namespace, and the paths between them.

mod end;
mod host;
mod hosts;

use std::net::IpAddr;

use anyhow::Result;
use ipnet::IpNet;
use mpt_linux::netns;

pub(crate) use end::End;
pub(crate) use host::Host;
pub(crate) use hosts::{Hosts, Side};

/// The properties of one path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathSpec {
    /// Rate in Mbit/s of a token bucket at either end; `None` for as fast as the machine.
    pub(crate) shaped: Option<u32>,
    /// True if its devices take TCP super-packets (TSO, GSO).
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
    /// Returns the address of one of its ends.
    pub(crate) fn address(&self, end: End) -> IpAddr {
        IpAddr::from([10, 71, self.number, end.number()])
    }
}

/// Two hosts and the paths between them; gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Topology {
    hosts: Hosts,
    paths: Vec<Path>,
}

impl Topology {
    /// Makes the hosts and as many paths as there are specifications.
    pub(crate) fn new(specs: &[PathSpec]) -> Result<Self> {
        Self::between(Hosts::new(End::A, End::B)?, specs)
    }

    /// Makes the same under a name, so that this laboratory may have several at one time.
    pub(crate) fn named(name: &str, specs: &[PathSpec]) -> Result<Self> {
        let host = |end: End| format!("{name}-{end}");
        Self::between(Hosts::new(host(End::A), host(End::B))?, specs)
    }

    fn between(hosts: Hosts, specs: &[PathSpec]) -> Result<Self> {
        let name = |number| Path { name: format!("path{number}"), number };
        let paths: Vec<Path> = (1..).zip(specs).map(|(number, _)| name(number)).collect();
        for (path, &spec) in paths.iter().zip(specs) {
            hosts.connect(&path.name)?;
            for end in [End::A, End::B] {
                hosts.number(end, &path.name, &[IpNet::new(path.address(end), 24)?])?;
                configure(hosts.host(end), path, spec)?;
            }
        }
        Ok(Self { hosts, paths })
    }

    /// The host at one end.
    pub(crate) fn host(&self, end: End) -> &Host {
        self.hosts.host(end)
    }

    /// Returns the paths, in the order of their specifications.
    pub(crate) fn paths(&self) -> &[Path] {
        &self.paths
    }
}

/// Gives one end of a path its rate and its offloads.
fn configure(host: &Host, path: &Path, spec: PathSpec) -> Result<()> {
    let name = path.name.as_str();
    if let Some(rate) = spec.shaped {
        let rate = format!("{rate}mbit");
        let bucket = ["rate", &rate, "burst", "32kbit", "latency", "100ms"];
        let qdisc = [&["qdisc", "add", "dev", name, "root", "tbf"], bucket.as_slice()].concat();
        netns::tc(host.namespace(), &qdisc)?;
    }
    if !spec.segmentation_offload {
        host.do_without(name, &["tso", "gso"])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::console::interrupt::Interrupt;
    use crate::traffic::iperf::{self, Load, Server};

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
        let name = topology.host(End::A).namespace().name().to_owned();
        let _server = Server::start(topology.host(End::B), &interrupt).unwrap();
        for (path, rate) in topology.paths().iter().zip([20e6, 40e6]) {
            let (to, load) = (path.address(End::B), Load::Tcp { flows: 1 });
            let transfer =
                |time| iperf::transfer(topology.host(End::A), to, load, time, &interrupt);
            let goodput = transfer(Duration::from_secs(2)).unwrap().bit_rate();
            // 1448 bytes of payload in a frame of 1514; the bucket and the queue (100 ms) may
            // help a little.
            assert!((0.85..1.0).contains(&(goodput / rate)), "{goodput} of {rate}");
        }
        drop(topology);
        assert!(!std::path::Path::new("/run/netns").join(name).exists());
    }
}
