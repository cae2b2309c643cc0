//! The groups of stages of a benchmark, one after the other: each is set up, measured and taken down.
//!
//! The speed of a machine changes from minute to minute, by as much as compared stages differ. So the stages of a group are all there at the same
//! time, and each measurement of them is made in turns, the first of which alternates.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Error, Result};

use super::pace::{Pace, SET_UP};
use super::repeat;
use super::search::{self, Attempt};
use super::setup::{SETTLE, Sent, Setup};
use super::stages::{Measure, Stage};
use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;
use crate::measurements::turns::order;
use crate::results::record::{Failure, Record};
use crate::results::samples::Samples;
use crate::traffic::iperf::Load;
use crate::traffic::ping;

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

/// A stage that is set up, and what was measured in it.
struct Running<'a> {
    stage: &'a Stage,
    setup: Setup,
    samples: Samples,
}

/// One measurement of a round, and its values.
struct Step<'a> {
    round: u32,
    /// First part of the names of the values.
    name: String,
    samples: &'a mut Samples,
}

impl Bench<'_> {
    /// Sets the stages of a group up, measures everything in them in turns, and takes them down again. What fails is recorded; only an interruption
    /// is an error.
    pub(super) fn group(&mut self, group: &[&Stage], round: u32) -> Result<()> {
        let mut all = Vec::new();
        for &stage in group {
            self.progress.step(&format!("round {round}, {}", stage.name), SET_UP);
            match Setup::new(stage, &self.program, self.interrupt) {
                Ok(setup) => all.push(Running { stage, setup, samples: Samples::default() }),
                Err(error) => self.failed(round, stage.name.into(), &error)?,
            }
        }
        let measures: BTreeSet<_> = group.iter().flat_map(|stage| stage.measures).collect();
        for &measure in measures {
            for turn in 0..self.pace.turns(measure) {
                for place in order(turn, all.len()) {
                    self.turn(&mut all[place], measure, round)?;
                }
            }
        }
        for Running { stage, setup, mut samples } in all {
            match setup.end(stage, &mut samples) {
                Ok(()) => self.record.samples.append(samples),
                // Without an orderly end, nothing says that the values are those of the stage.
                Err(error) => self.failed(round, stage.name.into(), &error)?,
            }
        }
        Ok(())
    }

    /// Makes a measurement in a stage, if it is one of the stage's own.
    fn turn(&mut self, running: &mut Running<'_>, measure: Measure, round: u32) -> Result<()> {
        let Running { stage, setup, samples } = running;
        if !stage.measures.contains(&measure) {
            return Ok(());
        }
        let name = format!("{}/{}", stage.name, measure.name());
        self.progress.step(&format!("round {round}, {name}"), self.pace.measure(measure));
        let mut step = Step { round, name: name.clone(), samples };
        let measured = self.measure(&mut step, setup, measure);
        measured.or_else(|error| self.failed(round, name, &error))
    }

    /// Records a failure. Returns the interruption as an error, if that was the reason.
    fn failed(&mut self, round: u32, what: String, error: &Error) -> Result<()> {
        self.interrupt.check()?;
        self.record.failed.push(Failure { round, what, why: format!("{error:#}") });
        Ok(())
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
        step.samples.add(step.name.as_str(), setup.resident_memory()? as f64 / 1e6);
        Ok(())
    }

    /// Measures the round-trip time, in milliseconds.
    fn ping(&mut self, step: &mut Step<'_>, setup: &Setup) -> Result<()> {
        let times = ping::ping(setup.sender(), setup.to, self.pace.pings, self.interrupt)?;
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
                setup.restart_server(interrupt)?;
            }
            setup.send(load, duration, interrupt)
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
