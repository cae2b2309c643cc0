//! The laboratory's side of the emulator.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mpt_link::Change;
use serde::Serialize;

use super::counters::{Counters, DeviceCounters, drops};
use super::plan::{CablePlan, EmulatorPlan};
use super::protocol::{self, Reply, Report};
use crate::console::interrupt::Interrupt;
use crate::processes::Process;
use crate::processes::poll::POLL;

/// Longest time for an answer: it takes milliseconds, and on a machine that is overloaded on purpose up to some seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running emulator: a process of its own, which ends with the laboratory however that ends, and its devices with it.
#[derive(Debug)]
pub(crate) struct Emulator {
    process: Process,
    conversation: Mutex<Conversation>,
    cables: Vec<CablePlan>,
    interrupt: Interrupt,
}

#[derive(Debug)]
struct Conversation {
    to: ChildStdin,
    from: Receiver<String>,
}

impl Emulator {
    /// Starts it; all devices of the plan exist and are up, without addresses, when this returns. `laboratory` is the path
    /// of this program.
    ///
    /// # Errors
    ///
    /// Fails when the plan is impossible, or a device cannot be made.
    pub(crate) fn start(
        plan: &EmulatorPlan,
        laboratory: &Path,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        plan.check()?;
        let mut command = Command::new(laboratory);
        command.arg("emulate").stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn().context("cannot start the emulator")?;
        let mut process = Process(child);
        let to = process.0.stdin.take().context("the emulator has no input")?;
        let from = lines(process.0.stdout.take().context("the emulator has no output")?)?;
        let emulator = Self {
            process,
            conversation: Mutex::new(Conversation { to, from }),
            cables: plan.cables.clone(),
            interrupt: interrupt.clone(),
        };
        emulator.expect_done(plan).context("emulator")?;
        Ok(emulator)
    }

    /// Returns its process id, for [`crate::machine::usage::cpu_time`].
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Starts the schedules of all channels.
    ///
    /// # Errors
    ///
    /// Fails when the emulator is gone.
    pub(crate) fn start_schedule(&self) -> Result<()> {
        self.expect_done(&protocol::Command::StartSchedule)
    }

    /// Changes a channel from now on; packets on their way are left alone.
    ///
    /// # Errors
    ///
    /// Fails when there is no such channel.
    pub(crate) fn change(&self, channel: usize, change: Change) -> Result<()> {
        self.expect_done(&protocol::Command::Change(channel, change))
    }

    /// Plugs a cable in or pulls it out, at both ends. Packets on their way are lost.
    ///
    /// # Errors
    ///
    /// Fails when there is no such cable, or the kernel refuses.
    pub(crate) fn set_carrier(&self, cable: usize, carrier: bool) -> Result<()> {
        self.expect_done(&protocol::Command::Carrier(cable, carrier))
    }

    /// Returns what has happened so far.
    ///
    /// # Errors
    ///
    /// Fails when the emulator or one of the namespaces is gone.
    pub(crate) fn counters(&self) -> Result<Counters> {
        let report = match self.ask(&protocol::Command::Report)? {
            Reply::Report(report) => *report,
            Reply::Done => bail!("the emulator answered without a report"),
            Reply::Failed(why) => bail!("the emulator has no report: {why}"),
        };
        let Report { channels, cables, lateness } = report;
        ensure!(cables.len() == self.cables.len(), "emulator: its report is not about our cables");
        let mut counted = Vec::with_capacity(cables.len());
        for (plan, ends) in self.cables.iter().zip(cables) {
            let mut devices = [DeviceCounters::default(), DeviceCounters::default()];
            for ((device, end), ours) in devices.iter_mut().zip(&plan.ends).zip(ends) {
                let drops = drops(&end.namespace)?;
                let drops = drops.get(&end.device);
                let &[rx, tx] = drops.with_context(|| format!("device {} is gone", end.device))?;
                *device = DeviceCounters {
                    rx_dropped: rx.saturating_sub(ours.down),
                    tx_dropped: tx,
                    refused: ours.refused,
                    overflow: ours.overflow,
                    cut: ours.cut + ours.down,
                };
            }
            counted.push(devices);
        }
        Ok(Counters { channels, cables: counted, lateness: Some(lateness) })
    }

    fn expect_done(&self, request: &impl Serialize) -> Result<()> {
        match self.ask(request)? {
            Reply::Done => Ok(()),
            Reply::Failed(why) => bail!("{why}"),
            Reply::Report(_) => bail!("the emulator gave a report that nobody asked for"),
        }
    }

    fn ask(&self, request: &impl Serialize) -> Result<Reply> {
        let mut conversation = self.conversation.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        conversation.to.write_all(&line).context("the emulator is gone")?;
        let asked = Instant::now();
        loop {
            match conversation.from.recv_timeout(POLL) {
                Ok(line) => return serde_json::from_str(&line).context("cannot read the answer"),
                Err(RecvTimeoutError::Disconnected) => bail!("the emulator has ended"),
                Err(RecvTimeoutError::Timeout) => {}
            }
            // An answer that is not read would be taken for that to the next command. After an interrupt there is no next one.
            self.interrupt.check()?;
            ensure!(
                asked.elapsed() < PATIENCE,
                "no answer from the emulator in {} s",
                PATIENCE.as_secs()
            );
        }
    }
}

/// Returns its answers, read by a thread of its own, so that a missing answer does not block the laboratory.
fn lines(pipe: ChildStdout) -> Result<Receiver<String>> {
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("emulator".into()).spawn(work)?;
    Ok(receiver)
}
