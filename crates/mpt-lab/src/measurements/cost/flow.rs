//! A transfer by TCP through a tunnel, in namespaces of its own.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::console::interrupt::Interrupt;
use crate::machine::usage;
use crate::processes::daemon::{Settings, Tunnel};
use crate::results::samples::Samples;
use crate::topology::{End, PathSpec, Topology};
use crate::traffic::iperf::{self, Load, Server};

/// A transfer, and the tunnel that it goes through.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) duration: Duration,
    pub(super) paths: u8,
    pub(super) flows: u8,
}

impl fmt::Display for Transfer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let several = |count: u8, what: &str| match count {
            1 => format!("one {what}"),
            _ => format!("{count} {what}s"),
        };
        let (flows, paths) = (several(self.flows, "TCP flow"), several(self.paths, "path"));
        write!(formatter, "{flows} for {} s, {paths}", self.duration.as_secs())
    }
}

/// Adds the goodput of all flows in Gbit/s and the CPU time of both daemons in s/GB (10^9 bytes).
pub(super) fn measure(
    program: &Path,
    side: &str,
    transfer: &Transfer,
    samples: &mut Samples,
    interrupt: &Interrupt,
) -> Result<()> {
    let path = PathSpec { shaped: None, segmentation_offload: true };
    let topology = Topology::new(&vec![path; transfer.paths.into()])?;
    // A short name: the path of a UNIX socket has at most 107 bytes.
    let scratch = tempfile::Builder::new().prefix("mpt-lab-").tempdir()?;
    let tunnel = Tunnel::start(program, &topology, Settings::default(), scratch.path(), interrupt)?;
    let _server = Server::start(topology.host(End::B), interrupt)?;
    let used = |end| usage::cpu_time(tunnel.daemon(end).id());
    let before = [used(End::A)?, used(End::B)?];
    let host = topology.host(End::A);
    let to = Tunnel::address(End::B);
    let load = Load::Tcp { flows: transfer.flows };
    let transferred = iperf::transfer(host, to, load, transfer.duration, interrupt)?;
    let after = [used(End::A)?, used(End::B)?];
    let goodput = if transfer.flows == 1 { "goodput" } else { "goodput-together" };
    samples.add(format!("{side}/{goodput}"), transferred.bit_rate() / 1e9);
    for (name, (before, after)) in ["send", "receive"].iter().zip(before.iter().zip(after)) {
        let used = (after - *before).as_secs_f64();
        samples.add(format!("{side}/cpu-{name}"), used / (transferred.bytes / 1e9));
    }
    tunnel.stop()
}
