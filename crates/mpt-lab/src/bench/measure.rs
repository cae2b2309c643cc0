//! One stage after the other: sets it up, measures, takes it down.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::search::{self, Attempt};
use super::stages::{Carrier, Measure, Stage};
use crate::case::adapter::{self, Adapter};
use crate::daemon::Tunnel;
use crate::interrupt::Interrupt;
use crate::iperf::{self, Load, Server};
use crate::ping;
use crate::progress::Progress;
use crate::samples::Samples;
use crate::topology::{End, PathSpec, Topology};
use crate::usage;

/// How long and how often things are measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// One TCP transfer.
    tcp: Duration,
    /// One attempt of the search for the highest UDP rate.
    udp: Duration,
    /// At most that many attempts.
    udp_attempts: u32,
    /// Echo requests.
    pings: u32,
}

impl Pace {
    /// For figures to publish.
    pub(super) const FULL: Self = Self {
        tcp: Duration::from_secs(5),
        udp: Duration::from_secs(2),
        udp_attempts: 10,
        pings: 300,
    };
    /// To see whether all of it works.
    pub(super) const QUICK: Self = Self {
        tcp: Duration::from_secs(1),
        udp: Duration::from_secs(1),
        udp_attempts: 6,
        pings: 100,
    };

    /// Returns what one measurement consists of, for people.
    pub(super) fn extent(self) -> String {
        format!(
            "TCP for {} s, UDP for {} s in each of at most {} attempts, {} pings",
            self.tcp.as_secs(),
            self.udp.as_secs(),
            self.udp_attempts,
            self.pings
        )
    }

    /// About how long a stage takes.
    pub(super) fn stage(self, stage: &Stage) -> Duration {
        let preparation = Duration::from_secs(1);
        preparation + stage.measures.iter().map(|&measure| self.measure(measure)).sum::<Duration>()
    }

    /// About how long one measurement takes.
    fn measure(self, measure: Measure) -> Duration {
        match measure {
            Measure::IdleMemory => SETTLE,
            Measure::Ping => Duration::from_millis(10) * self.pings,
            Measure::Tcp { .. } => self.tcp,
            Measure::Udp { .. } => self.udp * self.udp_attempts,
            Measure::UdpCpu { .. } => self.tcp,
        }
    }
}

/// After its start a daemon is left alone that long before it counts as idle.
const SETTLE: Duration = Duration::from_secs(1);

/// The adapter of the laboratory for WireGuard in user space.
const WIREGUARD: &str = "wireguard-go";
/// UDP packets per second at which the CPU time of a packet is measured.
const MODERATE: f64 = 50_000.0;

/// The run.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    /// The daemon's executable.
    pub(super) program: PathBuf,
    pub(super) pace: Pace,
    pub(super) progress: Progress,
    pub(super) interrupt: &'a Interrupt,
    pub(super) samples: Samples,
}

/// What a stage consists of while it lasts. The order is that of the end: daemons before hosts.
struct Setup {
    tunnel: Option<Tunnel>,
    _adapter: Option<adapter::Running>,
    _server: Server,
    topology: Topology,
    to: IpAddr,
    _scratch: tempfile::TempDir,
}

impl Bench<'_> {
    /// Sets the stage up, measures everything in it and takes it down again.
    pub(super) fn stage(&mut self, stage: &Stage, round: u32) -> Result<()> {
        self.progress.step(&format!("round {round}, {}", stage.name), Duration::from_secs(1));
        let setup = self.set_up(stage)?;
        for &measure in stage.measures {
            let name = format!("{}/{}", stage.name, measure.name());
            self.progress.step(&format!("round {round}, {name}"), self.pace.measure(measure));
            self.measure(&name, &setup, measure).with_context(|| measure.name())?;
        }
        if let Some(tunnel) = setup.tunnel {
            if stage.carrier.spreads_by_weights() {
                check_shares(&tunnel)?;
            }
            for (end, name) in [(End::A, "send"), (End::B, "receive")] {
                let peak = usage::memory(tunnel.daemon(end).id())?.peak;
                self.samples.add(format!("{}/{name}/peak-memory", stage.name), peak as f64 / 1e6);
            }
            tunnel.stop()?;
        }
        Ok(())
    }

    fn set_up(&self, stage: &Stage) -> Result<Setup> {
        let path = PathSpec { shaped: None, segmentation_offload: stage.segmentation_offload };
        let topology = Topology::new(&vec![path; stage.paths])?;
        // A short name: the path of a UNIX socket has at most 107 bytes.
        let scratch = tempfile::Builder::new().prefix("mpt-lab-").tempdir()?;
        let (mut tunnel, mut other) = (None, None);
        let to = match stage.carrier {
            Carrier::Path => topology.paths()[0].address(End::B),
            Carrier::Tunnel(settings) => {
                let (program, directory) = (&self.program, scratch.path());
                let started =
                    Tunnel::start(program, &topology, settings, directory, self.interrupt)?;
                tunnel = Some(started);
                Tunnel::address(End::B)
            }
            Carrier::WireguardGo => {
                let wireguard = Adapter::load(WIREGUARD, None)?;
                let host = |end| topology.host(end);
                other = Some(wireguard.start(host, scratch.path(), self.interrupt)?);
                adapter::address(End::B)
            }
        };
        let server = Server::start(topology.host(End::B), self.interrupt)?;
        Ok(Setup { tunnel, _adapter: other, _server: server, topology, to, _scratch: scratch })
    }

    fn measure(&mut self, name: &str, setup: &Setup, measure: Measure) -> Result<()> {
        match measure {
            Measure::IdleMemory => self.idle_memory(name, setup),
            Measure::Ping => self.ping(name, setup),
            Measure::Tcp { flows } => self.tcp(name, setup, flows),
            Measure::Udp { payload } => self.udp(name, setup, payload),
            Measure::UdpCpu { payload } => self.udp_cpu(name, setup, payload),
        }
    }

    /// MB (10^6 bytes), the larger of the two ends.
    fn idle_memory(&mut self, name: &str, setup: &Setup) -> Result<()> {
        std::thread::sleep(SETTLE);
        let tunnel = setup.tunnel.as_ref().context("no daemon")?;
        let mut largest = 0;
        for end in [End::A, End::B] {
            largest = largest.max(usage::memory(tunnel.daemon(end).id())?.resident);
        }
        self.samples.add(name, largest as f64 / 1e6);
        Ok(())
    }

    /// Milliseconds.
    fn ping(&mut self, name: &str, setup: &Setup) -> Result<()> {
        let host = setup.topology.host(End::A);
        let times = ping::ping(host, setup.to, self.pace.pings, self.interrupt)?;
        self.samples.add(format!("{name}/median"), times.median());
        self.samples.add(format!("{name}/p99"), times.p99());
        Ok(())
    }

    /// Gbit/s of goodput; CPU seconds per GB (10^9 bytes of goodput) of each daemon.
    fn tcp(&mut self, name: &str, setup: &Setup, flows: u8) -> Result<()> {
        let cpu = |end| setup.tunnel.as_ref().map(|it| usage::cpu_time(it.daemon(end).id()));
        let before = (cpu(End::A).transpose()?, cpu(End::B).transpose()?);
        let host = setup.topology.host(End::A);
        let load = Load::Tcp { flows };
        let transfer = iperf::transfer(host, setup.to, load, self.pace.tcp, self.interrupt)?;
        let after = (cpu(End::A).transpose()?, cpu(End::B).transpose()?);

        self.samples.add(format!("{name}/rate"), transfer.bit_rate() / 1e9);
        self.samples.add(format!("{name}/retransmits"), transfer.retransmits as f64);
        let ends = [("send", before.0, after.0), ("receive", before.1, after.1)];
        for (end, before, after) in ends {
            if let (Some(before), Some(after)) = (before, after) {
                let used = (after - before).as_secs_f64();
                self.samples.add(format!("{name}/cpu-{end}"), used / (transfer.bytes / 1e9));
            }
        }
        Ok(())
    }

    /// Thousands of packets per second.
    fn udp(&mut self, name: &str, setup: &Setup, payload: u16) -> Result<()> {
        let host = setup.topology.host(End::A);
        let rate = search::highest_rate(self.pace.udp_attempts, |rate| {
            let load = Load::Udp { payload, rate };
            let transfer = iperf::transfer(host, setup.to, load, self.pace.udp, self.interrupt)?;
            Ok(Attempt {
                offered: transfer.offered(),
                received: transfer.received(),
                loss: transfer.loss(),
            })
        })?;
        self.samples.add(format!("{name}/rate"), rate / 1e3);
        Ok(())
    }
}

impl Bench<'_> {
    /// Microseconds per packet that arrived, both daemons together.
    fn udp_cpu(&mut self, name: &str, setup: &Setup, payload: u16) -> Result<()> {
        let tunnel = setup.tunnel.as_ref().context("no daemon")?;
        let used = || -> Result<Duration> {
            let of = |end| usage::cpu_time(tunnel.daemon(end).id());
            Ok(of(End::A)? + of(End::B)?)
        };
        let before = used()?;
        let host = setup.topology.host(End::A);
        let load = Load::Udp { payload, rate: Some(MODERATE) };
        let transfer = iperf::transfer(host, setup.to, load, self.pace.tcp, self.interrupt)?;
        let used = (used()? - before).as_secs_f64();
        let arrived = transfer.packets.saturating_sub(transfer.lost).max(1);
        self.samples.add(format!("{name}/both"), used * 1e6 / arrived as f64);
        Ok(())
    }
}

/// The weights are equal: when a path carried clearly less than its share, what was measured was
/// not what the stage is called.
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
