//! The stages of a benchmark, one after the other: each is set up, measured and taken down.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};

use super::repeat;
use super::search::{self, Attempt};
use super::stages::{Carrier, Measure, Stage};
use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;
use crate::experiments::case::adapter::{self, Adapter};
use crate::machine::usage;
use crate::processes::daemon::Tunnel;
use crate::results::record::{Failure, Record};
use crate::results::samples::Samples;
use crate::topology::{End, PathSpec, Topology};
use crate::traffic::iperf::{self, Load, Server, Transfer};
use crate::traffic::ping;

/// Durations and numbers of measurements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Duration of one TCP transfer.
    tcp: Duration,
    /// Duration of one attempt of the search for the highest UDP rate.
    udp: Duration,
    /// Most attempts of the search.
    udp_attempts: u32,
    /// Number of echo requests.
    pings: u32,
}

impl Pace {
    /// The pace for figures to publish.
    pub(super) const FULL: Self = Self {
        tcp: Duration::from_secs(5),
        udp: Duration::from_secs(2),
        udp_attempts: 10,
        pings: 300,
    };
    /// The pace to see whether all of it works.
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

    /// Returns the approximate duration of a stage.
    pub(super) fn stage(self, stage: &Stage) -> Duration {
        let preparation = Duration::from_secs(1);
        preparation + stage.measures.iter().map(|&measure| self.measure(measure)).sum::<Duration>()
    }

    /// Returns the approximate duration of one measurement.
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

/// Time after its start at which a daemon counts as idle.
const SETTLE: Duration = Duration::from_secs(1);

/// The adapter of the laboratory for WireGuard in user space.
const WIREGUARD: &str = "wireguard-go";
/// UDP packets per second at which the CPU time of a packet is measured.
const MODERATE: f64 = 50_000.0;
/// The longest time that the queue of a tunnel takes to drain after a flood. Small flows overtake what waits there, so the next iperf3 would begin
/// before, and its server would take the last packets of the flood for the first of its client, which then waits for an answer for ever.
const DRAINS: Duration = Duration::from_millis(500);

/// The state of a run.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    /// The daemon's executable.
    pub(super) program: PathBuf,
    pub(super) pace: Pace,
    pub(super) progress: Progress,
    pub(super) interrupt: &'a Interrupt,
    /// The results so far.
    pub(super) record: Record,
}

/// The parts of a stage while it lasts. The order of the fields is that of their ends: daemons before hosts.
struct Setup {
    tunnel: Option<Tunnel>,
    _adapter: Option<adapter::Running>,
    /// The server of iperf3; `None` only while it is started again.
    server: Option<Server>,
    topology: Topology,
    to: IpAddr,
    _scratch: tempfile::TempDir,
}

/// One measurement of a round, and its values.
struct Step<'a> {
    round: u32,
    /// First part of the names of the values.
    name: String,
    samples: &'a mut Samples,
}

impl Bench<'_> {
    /// Sets the stage up, measures everything in it and takes it down again. What fails is recorded; only an interruption is an
    /// error.
    pub(super) fn stage(&mut self, stage: &Stage, round: u32) -> Result<()> {
        self.progress.step(&format!("round {round}, {}", stage.name), Duration::from_secs(1));
        let mut samples = Samples::default();
        match self.measure_all(stage, round, &mut samples) {
            Ok(()) => self.record.samples.append(samples),
            // Without an orderly end, nothing says that the values are those of the stage.
            Err(error) => self.failed(round, stage.name.into(), &error)?,
        }
        Ok(())
    }

    fn measure_all(&mut self, stage: &Stage, round: u32, samples: &mut Samples) -> Result<()> {
        let mut setup = self.set_up(stage)?;
        for &measure in stage.measures {
            let name = format!("{}/{}", stage.name, measure.name());
            self.progress.step(&format!("round {round}, {name}"), self.pace.measure(measure));
            let mut step = Step { round, name: name.clone(), samples: &mut *samples };
            if let Err(error) = self.measure(&mut step, &mut setup, measure) {
                self.failed(round, name, &error)?;
            }
        }
        if let Some(tunnel) = setup.tunnel {
            if stage.carrier.spreads_by_weights() {
                check_shares(&tunnel)?;
            }
            for (end, name) in [(End::A, "send"), (End::B, "receive")] {
                let peak = usage::memory(tunnel.daemon(end).id())?.peak;
                samples.add(format!("{}/{name}/peak-memory", stage.name), peak as f64 / 1e6);
            }
            tunnel.stop()?;
        }
        Ok(())
    }

    /// Records a failure. Returns the interruption as an error, if that was the reason.
    fn failed(&mut self, round: u32, what: String, error: &Error) -> Result<()> {
        self.interrupt.check()?;
        self.record.failed.push(Failure { round, what, why: format!("{error:#}") });
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
        Ok(Setup { tunnel, _adapter: other, server: Some(server), topology, to, _scratch: scratch })
    }

    fn measure(&mut self, step: &mut Step<'_>, setup: &mut Setup, measure: Measure) -> Result<()> {
        match measure {
            Measure::IdleMemory => self.idle_memory(step, setup),
            Measure::Ping => self.ping(step, setup),
            Measure::Tcp { flows } => self.tcp(step, setup, flows),
            Measure::Udp { payload } => self.udp(step, setup, payload),
            Measure::UdpCpu { payload } => self.udp_cpu(step, setup, payload),
        }
    }

    /// Measures idle memory in MB (10^6 bytes), the larger of the two ends.
    fn idle_memory(&mut self, step: &mut Step<'_>, setup: &Setup) -> Result<()> {
        self.interrupt.sleep(SETTLE)?;
        let tunnel = setup.tunnel.as_ref().context("no daemon")?;
        let mut largest = 0;
        for end in [End::A, End::B] {
            largest = largest.max(usage::memory(tunnel.daemon(end).id())?.resident);
        }
        step.samples.add(step.name.as_str(), largest as f64 / 1e6);
        Ok(())
    }

    /// Measures the round-trip time, in milliseconds.
    fn ping(&mut self, step: &mut Step<'_>, setup: &Setup) -> Result<()> {
        let host = setup.topology.host(End::A);
        let times = ping::ping(host, setup.to, self.pace.pings, self.interrupt)?;
        step.add("median", times.median());
        step.add("p99", times.p99());
        Ok(())
    }

    /// Measures Gbit/s of goodput, and CPU seconds per GB (10^9 bytes of goodput) of each daemon.
    fn tcp(&mut self, step: &mut Step<'_>, setup: &mut Setup, flows: u8) -> Result<()> {
        let duration = self.pace.tcp;
        let sent = self.transfer(step, setup, Load::Tcp { flows }, duration)?;
        step.add("rate", sent.transfer.bit_rate() / 1e9);
        step.add("retransmits", sent.transfer.retransmits as f64);
        if let Some(used) = sent.used {
            for (end, used) in ["send", "receive"].into_iter().zip(used) {
                step.add(&format!("cpu-{end}"), used.as_secs_f64() / (sent.transfer.bytes / 1e9));
            }
        }
        Ok(())
    }

    /// Measures the highest UDP rate in thousands of packets per second.
    fn udp(&mut self, step: &mut Step<'_>, setup: &mut Setup, payload: u16) -> Result<()> {
        let duration = self.pace.udp;
        let rate = search::highest_rate(self.pace.udp_attempts, |rate| {
            let load = Load::Udp { payload, rate };
            let transfer = self.transfer(step, setup, load, duration)?.transfer;
            self.interrupt.sleep(DRAINS)?;
            Ok(Attempt {
                offered: transfer.offered(),
                received: transfer.received(),
                loss: transfer.loss(),
            })
        })?;
        step.add("rate", rate / 1e3);
        Ok(())
    }

    /// Measures the CPU time of UDP in microseconds per packet that arrived, both daemons together.
    fn udp_cpu(&mut self, step: &mut Step<'_>, setup: &mut Setup, payload: u16) -> Result<()> {
        let load = Load::Udp { payload, rate: Some(MODERATE) };
        let sent = self.transfer(step, setup, load, self.pace.tcp)?;
        let used: Duration = sent.used.context("no daemon")?.iter().sum();
        let arrived = sent.transfer.packets.saturating_sub(sent.transfer.lost).max(1);
        step.add("both", used.as_secs_f64() * 1e6 / arrived as f64);
        Ok(())
    }

    /// Sends `load`; again, with a new server, when iperf3 fails.
    fn transfer(
        &mut self,
        step: &Step<'_>,
        setup: &mut Setup,
        load: Load,
        duration: Duration,
    ) -> Result<Sent> {
        let interrupt = self.interrupt;
        let attempt = |number| {
            if number > 0 {
                // The old one has to leave its port first.
                setup.server = None;
                setup.server = Some(Server::start(setup.topology.host(End::B), interrupt)?);
            }
            send(setup, load, duration, interrupt)
        };
        repeat::until_success(interrupt, attempt, |error| {
            let why = format!("{error:#}");
            let (round, what) = (step.round, step.name.clone());
            self.progress.step(&format!("round {round}, {what}, again: {why}"), Duration::ZERO);
            self.record.repeated.push(Failure { round, what, why });
        })
    }
}

impl Step<'_> {
    /// Adds one value under the measurement's name and this one.
    fn add(&mut self, name: &str, value: f64) {
        self.samples.add(format!("{}/{name}", self.name), value);
    }
}

/// One transfer that succeeded.
struct Sent {
    transfer: Transfer,
    /// CPU time of the daemons at the sending and at the receiving end; `None` without a tunnel.
    used: Option<[Duration; 2]>,
}

fn send(setup: &Setup, load: Load, duration: Duration, interrupt: &Interrupt) -> Result<Sent> {
    let before = cpu_times(setup)?;
    let host = setup.topology.host(End::A);
    let transfer = iperf::transfer(host, setup.to, load, duration, interrupt)?;
    let after = cpu_times(setup)?;
    let used =
        before.zip(after).map(|(before, after)| [after[0] - before[0], after[1] - before[1]]);
    Ok(Sent { transfer, used })
}

fn cpu_times(setup: &Setup) -> Result<Option<[Duration; 2]>> {
    let Some(tunnel) = &setup.tunnel else { return Ok(None) };
    let of = |end| usage::cpu_time(tunnel.daemon(end).id());
    Ok(Some([of(End::A)?, of(End::B)?]))
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
