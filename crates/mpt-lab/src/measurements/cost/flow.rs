//! One TCP flow through a tunnel over one path, in namespaces of its own.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::console::interrupt::Interrupt;
use crate::machine::usage;
use crate::processes::daemon::{Settings, Tunnel};
use crate::results::samples::Samples;
use crate::topology::{End, PathSpec, Topology};
use crate::traffic::iperf::{self, Load, Server};

/// Adds the goodput in Gbit/s and the CPU time of both daemons in s/GB (10^9 bytes).
pub(super) fn measure(
    program: &Path,
    side: &str,
    duration: Duration,
    samples: &mut Samples,
    interrupt: &Interrupt,
) -> Result<()> {
    let topology = Topology::new(&[PathSpec { shaped: None, segmentation_offload: true }])?;
    // A short name: the path of a UNIX socket has at most 107 bytes.
    let scratch = tempfile::Builder::new().prefix("mpt-lab-").tempdir()?;
    let tunnel = Tunnel::start(program, &topology, Settings::default(), scratch.path(), interrupt)?;
    let _server = Server::start(topology.host(End::B), interrupt)?;
    let used = |end| usage::cpu_time(tunnel.daemon(end).id());
    let before = [used(End::A)?, used(End::B)?];
    let host = topology.host(End::A);
    let to = Tunnel::address(End::B);
    let transfer = iperf::transfer(host, to, Load::Tcp { flows: 1 }, duration, interrupt)?;
    let after = [used(End::A)?, used(End::B)?];
    samples.add(format!("{side}/goodput"), transfer.bit_rate() / 1e9);
    for (name, (before, after)) in ["send", "receive"].iter().zip(before.iter().zip(after)) {
        let used = (after - *before).as_secs_f64();
        samples.add(format!("{side}/cpu-{name}"), used / (transfer.bytes / 1e9));
    }
    tunnel.stop()
}
