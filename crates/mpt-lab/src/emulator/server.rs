//! The emulator's process: one thread that moves frames between TAP devices. `docs/emulation.md` gives the reasons for its form.

use std::fs::File;
use std::io::{ErrorKind, IoSlice, Read, Write, stdin, stdout};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mpt_linux::netlink::Netlink;
use mpt_linux::netns::{self, Namespace};
use mpt_linux::poller::{Event, Interest, MAX_EVENTS, Poller};
use mpt_linux::realtime;
use mpt_linux::tap::{READ_LEN, Tap};
use nix::errno::Errno;
use nix::sys::prctl;

use super::engine::{Delivery, Engine};
use super::lateness::Record;
use super::plan::{EmulatorPlan, EndPlan};
use super::protocol::{Command, EndReport, Reply, Report};

/// Frames read from a device before others get their turn. With 8, 2 x 1000 Mbit/s leave more of the machine idle than with more: frames are still in
/// the cache when they are written.
const BATCH: usize = 8;
/// Frames written before devices are read again.
const WRITES: usize = 64;
/// Duration of a sleep above which it ends [`WATCH`] early, and the rest is spent watching the clock: the kernel wakes a thread that has slept long
/// about that much too late. Where frames are due more often, it would cost more than it mends.
const LONG_SLEEP: Duration = Duration::from_micros(300);
const WATCH: Duration = Duration::from_micros(40);
/// Frames that a device keeps for the emulator. The kernel drops more without a word to the sender, so there is room for all that TCP sends without
/// an answer: 16,384 ordinary frames are 24 MB.
const DEVICE_QUEUE: u32 = 16_384;
/// Bytes of the longest command: a plan of some thousand links.
const LONGEST_COMMAND: usize = 16 * 1024 * 1024;
/// The poller's token of the laboratory's commands; devices have their indices.
const COMMANDS: u64 = u64::MAX;

/// Runs until the laboratory closes our standard input, whatever signals come: it alone knows what is still to be cleaned
/// up. (The end of the laboratory closes it, too. A death signal would come when the thread that started us ends.)
///
/// # Errors
///
/// Fails when the laboratory cannot be understood. A fault of the plan is reported to the laboratory.
pub(crate) fn run() -> Result<()> {
    let mut commands = Commands::open()?;
    let Some(plan) = commands.next_line()? else { return Ok(()) };
    let plan: EmulatorPlan = serde_json::from_slice(&plan).context("cannot read the plan")?;
    match Server::new(&plan, &commands) {
        Ok(mut server) => {
            say(&Reply::Done)?;
            server.serve(&mut commands)
        }
        Err(error) => say(&Reply::Failed(format!("{error:#}"))),
    }
}

struct Server {
    engine: Engine,
    /// The devices. Those of cable n are 2n and 2n + 1: a frame of direction n comes from device n, and goes to `n ^ 1`.
    devices: Vec<Device>,
    poller: Poller,
    lateness: Record,
    /// True if the emulator never sleeps.
    spin: bool,
    /// Buffer for reading frames.
    buffer: Box<[u8]>,
    /// Buffer for the headers of written frames.
    headers: Vec<u8>,
}

struct Device {
    tap: Tap,
    /// Frames that the kernel refused.
    refused: u64,
    /// Frames that the kernel refused because the device was down.
    down: u64,
}

impl Server {
    fn new(plan: &EmulatorPlan, commands: &Commands) -> Result<Self> {
        plan.check()?;
        // The kernel may wake us up to 50 us late otherwise, to save energy.
        prctl::set_timerslack(1).context("set the timer slack")?;
        let poller = Poller::new()?;
        poller.add(&commands.file, COMMANDS, Interest::Read)?;
        let mut devices = Vec::new();
        for (end, cable) in
            plan.cables.iter().flat_map(|cable| cable.ends.iter().map(move |end| (end, cable)))
        {
            let tap = open(end, plan.plain).with_context(|| format!("cable {}", cable.name))?;
            poller.add(&tap, devices.len() as u64, Interest::Read)?;
            devices.push(Device { tap, refused: 0, down: 0 });
        }
        Ok(Self {
            engine: Engine::new(plan, Instant::now()),
            devices,
            poller,
            lateness: Record::new()?,
            spin: plan.spin,
            buffer: vec![0; READ_LEN].into(),
            headers: Vec::with_capacity(READ_LEN),
        })
    }

    fn serve(&mut self, commands: &mut Commands) -> Result<()> {
        // We stand for hardware, which does not wait until programs have done their work. Where that is not allowed links
        // are as good as the machine is idle; the record of lateness tells. Who never sleeps must not take it all: the kernel
        // would stop him for the last 50 ms of each second.
        let _ = if self.spin { realtime::prefer() } else { realtime::take_precedence() };
        // Nor is hardware asleep when a packet comes. Where that is not allowed the record tells, too.
        let _awake = realtime::Awake::keep();
        let mut events = [Event::default(); MAX_EVENTS];
        // The last sleep ended early, and nothing has happened since.
        let mut watching = false;
        loop {
            watching &= !self.deliver();
            let left = self.left();
            let early = left.is_some_and(|left| left > LONG_SLEEP);
            let timeout = match left {
                _ if self.spin => Some(Duration::ZERO),
                Some(left) if early => Some(left - WATCH),
                Some(left) if watching && left <= WATCH => Some(Duration::ZERO),
                left => left,
            };
            let events = self.poller.wait(&mut events, timeout)?;
            watching = events.is_empty() && (watching || early);
            for event in events {
                if event.token != COMMANDS {
                    let device = event.token as usize;
                    if self.read(device).is_err() {
                        // Somebody has removed it, and its cable with it.
                        self.poller.remove(&self.devices[device].tap)?;
                    }
                } else if !commands.fill()? {
                    return Ok(());
                }
            }
            while let Some(line) = commands.take_line() {
                let command = serde_json::from_slice(&line).context("cannot read a command")?;
                say(&self.obey(command))?;
            }
        }
    }

    /// Returns how long until something is due.
    fn left(&self) -> Option<Duration> {
        Some(self.engine.next_timeout()?.saturating_duration_since(Instant::now()))
    }

    fn read(&mut self, device: usize) -> std::io::Result<()> {
        for _ in 0..BATCH {
            let length = match self.devices[device].tap.read(&mut self.buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.engine.send(Instant::now(), device, &mut self.buffer, length);
        }
        Ok(())
    }

    /// True if anything was due.
    fn deliver(&mut self) -> bool {
        let mut any = false;
        for _ in 0..WRITES {
            let now = Instant::now();
            let Some(delivery) = self.engine.poll(now) else { break };
            any = true;
            self.lateness.add(now.saturating_duration_since(delivery.due));
            self.write(&delivery);
            self.engine.delivered(&delivery);
        }
        any
    }

    fn write(&mut self, delivery: &Delivery) {
        let frame = self.engine.frame(delivery);
        let bytes = frame.bytes();
        let (segments, marked) = (delivery.segments.clone(), delivery.marked);
        let rest = frame.shape.run(bytes, segments, marked, &mut self.headers);
        let rest = IoSlice::new(&bytes[rest]);
        let device = &mut self.devices[delivery.direction ^ 1];
        let written = if self.headers.is_empty() {
            device.tap.write(&[rest])
        } else {
            device.tap.write(&[IoSlice::new(&self.headers), rest])
        };
        match written.map_err(|error| error.raw_os_error().map(Errno::from_raw)) {
            Ok(_) => {}
            Err(Some(Errno::EIO)) => device.down += 1,
            Err(_) => device.refused += 1,
        }
    }

    fn obey(&mut self, command: Command) -> Reply {
        let now = Instant::now();
        match command {
            Command::StartSchedule => self.engine.start_schedule(now),
            Command::Change(channel, change) => {
                if !self.engine.change(now, channel, change) {
                    return Reply::Failed(format!("there is no channel {channel}"));
                }
            }
            Command::Carrier(cable, carrier) => {
                let Some(ends) = self.devices.chunks(2).nth(cable) else {
                    return Reply::Failed(format!("there is no cable {cable}"));
                };
                if let Err(error) = ends.iter().try_for_each(|end| end.tap.set_carrier(carrier)) {
                    return Reply::Failed(format!("set the carrier: {error}"));
                }
                self.engine.set_carrier(cable, carrier);
            }
            Command::Report => return Reply::Report(Box::new(self.report())),
        }
        Reply::Done
    }

    fn report(&self) -> Report {
        let end = |device: usize| {
            let (cut, overflow) = self.engine.dropped(device ^ 1);
            let Device { refused, down, .. } = self.devices[device];
            EndReport { cut, overflow, refused, down }
        };
        Report {
            channels: self.engine.channels().collect(),
            cables: (0..self.devices.len() / 2).map(|n| [end(2 * n), end(2 * n + 1)]).collect(),
            lateness: self.lateness.summary(),
        }
    }
}

/// Makes a device, up and without addresses.
fn open(end: &EndPlan, plain: bool) -> Result<Tap> {
    let namespace = Namespace::open(&end.namespace)?;
    let tap = netns::run_in(&namespace, || Tap::create(&end.device, plain))??;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let netlink = Netlink::connect_in(&namespace)?;
        let index = netlink.link(&end.device).await?.index;
        netlink.set_mtu(index, end.mtu.into()).await?;
        netlink.set_tx_queue_len(index, DEVICE_QUEUE).await?;
        netlink.set_up(index).await
    })?;
    Ok(tap)
}

/// The commands of the laboratory, line by line.
struct Commands {
    file: File,
    read: Vec<u8>,
}

impl Commands {
    fn open() -> Result<Self> {
        let file = stdin().as_fd().try_clone_to_owned().context("no standard input")?.into();
        Ok(Self { file, read: Vec::new() })
    }

    /// Waits for a line; `None` at the end.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(line));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Reads what there is, and waits where there is nothing. `false` at the end.
    fn fill(&mut self) -> Result<bool> {
        let mut chunk = [0; 64 * 1024];
        match self.file.read(&mut chunk) {
            Ok(0) => return Ok(false),
            Ok(length) => self.read.extend_from_slice(&chunk[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("cannot read standard input"),
        }
        if self.read.len() > LONGEST_COMMAND {
            bail!("a command of more than {LONGEST_COMMAND} bytes");
        }
        Ok(true)
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let end = self.read.iter().position(|&byte| byte == b'\n')?;
        let rest = self.read.split_off(end + 1);
        Some(std::mem::replace(&mut self.read, rest))
    }
}

fn say(reply: &Reply) -> Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    let mut stdout = stdout().lock();
    stdout.write_all(&line).and_then(|()| stdout.flush()).context("the laboratory is gone")
}
