//! A stage while it runs: hosts, paths and, perhaps, daemons, and transfers through them.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::stages::{Carrier, Stage};
use crate::console::interrupt::Interrupt;
use crate::experiments::case::adapter::{self, Adapter};
use crate::machine::usage;
use crate::processes::daemon::Tunnel;
use crate::results::samples::Samples;
use crate::topology::{End, Host, PathSpec, Topology};
use crate::traffic::iperf::{self, Load, Server, Transfer};

/// Time after its start at which a daemon counts as idle.
pub(super) const SETTLE: Duration = Duration::from_secs(1);

/// The adapter of the laboratory for WireGuard in user space.
const WIREGUARD: &str = "wireguard-go";

/// The parts of a stage while it lasts. The order of the fields is that of their ends: daemons before hosts.
pub(super) struct Setup {
    tunnel: Option<Tunnel>,
    _adapter: Option<adapter::Running>,
    /// The server of iperf3; `None` only while it is started again.
    server: Option<Server>,
    topology: Topology,
    /// The address to which packets are sent.
    pub(super) to: IpAddr,
    _scratch: tempfile::TempDir,
}

/// One transfer that succeeded.
pub(super) struct Sent {
    pub(super) transfer: Transfer,
    /// CPU time of the daemons at the sending and at the receiving end; `None` without a tunnel.
    pub(super) used: Option<[Duration; 2]>,
}

impl Setup {
    /// Sets a stage up. `program`: the daemon's executable.
    pub(super) fn new(stage: &Stage, program: &Path, interrupt: &Interrupt) -> Result<Self> {
        let path = PathSpec { shaped: None, segmentation_offload: stage.segmentation_offload };
        // The other stages of its group are there at the same time.
        let topology = Topology::named(stage.name, &vec![path; stage.paths])?;
        // A short name: the path of a UNIX socket has at most 107 bytes.
        let scratch = tempfile::Builder::new().prefix("mpt-lab-").tempdir()?;
        let (mut tunnel, mut other) = (None, None);
        let to = match stage.carrier {
            Carrier::Path => topology.paths()[0].address(End::B),
            Carrier::Tunnel(settings) => {
                let directory = scratch.path();
                let started = Tunnel::start(program, &topology, settings, directory, interrupt)?;
                tunnel = Some(started);
                Tunnel::address(End::B)
            }
            Carrier::WireguardGo => {
                let wireguard = Adapter::load(WIREGUARD, None)?;
                let host = |end| topology.host(end);
                other = Some(wireguard.start(host, scratch.path(), interrupt)?);
                adapter::address(End::B)
            }
        };
        let server = Server::start(topology.host(End::B), interrupt)?;
        Ok(Self { tunnel, _adapter: other, server: Some(server), topology, to, _scratch: scratch })
    }

    /// Returns the host that sends.
    pub(super) fn sender(&self) -> &Host {
        self.topology.host(End::A)
    }

    /// Returns the resident memory of the daemons in bytes, the larger of the two ends.
    pub(super) fn resident_memory(&self) -> Result<u64> {
        let tunnel = self.tunnel.as_ref().context("no daemon")?;
        let of = |end| usage::memory(tunnel.daemon(end).id()).map(|memory| memory.resident);
        Ok(of(End::A)?.max(of(End::B)?))
    }

    /// Starts the server of iperf3 again.
    pub(super) fn restart_server(&mut self, interrupt: &Interrupt) -> Result<()> {
        // The old one has to leave its port first.
        self.server = None;
        self.server = Some(Server::start(self.topology.host(End::B), interrupt)?);
        Ok(())
    }

    /// Sends `load` to the server.
    pub(super) fn send(&self, load: Load, time: Duration, interrupt: &Interrupt) -> Result<Sent> {
        let before = self.cpu_times()?;
        let transfer = iperf::transfer(self.sender(), self.to, load, time, interrupt)?;
        let after = self.cpu_times()?;
        let used =
            before.zip(after).map(|(before, after)| [after[0] - before[0], after[1] - before[1]]);
        Ok(Sent { transfer, used })
    }

    fn cpu_times(&self) -> Result<Option<[Duration; 2]>> {
        let Some(tunnel) = &self.tunnel else { return Ok(None) };
        let of = |end| usage::cpu_time(tunnel.daemon(end).id());
        Ok(Some([of(End::A)?, of(End::B)?]))
    }

    /// Checks that the stage was what it is to be, adds the most memory of its daemons in MB (10^6 bytes), and takes it down.
    pub(super) fn end(self, stage: &Stage, samples: &mut Samples) -> Result<()> {
        let Some(tunnel) = self.tunnel else { return Ok(()) };
        if stage.carrier.spreads_by_weights() {
            check_shares(&tunnel)?;
        }
        for (end, name) in [(End::A, "send"), (End::B, "receive")] {
            let peak = usage::memory(tunnel.daemon(end).id())?.peak;
            samples.add(format!("{}/{name}/peak-memory", stage.name), peak as f64 / 1e6);
        }
        tunnel.stop()
    }
}

/// Checks the shares of the paths. The weights are equal: if a path carried clearly less than its share, the measurement was not that of the stage.
fn check_shares(tunnel: &Tunnel) -> Result<()> {
    let packets = tunnel.daemon(End::A).packets_sent()?;
    let all: u64 = packets.iter().sum();
    let fair = all as f64 / packets.len() as f64;
    if packets.iter().any(|&packets| (packets as f64) < fair * 0.9) {
        let packets: Vec<_> = packets.iter().map(u64::to_string).collect();
        bail!("the paths carried unequal shares: {} packets", packets.join(", "));
    }
    Ok(())
}
