//! One concentrator with a number of clients, and their cost.

use std::net::{SocketAddr, UdpSocket};
use std::ops::AddAssign;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mpt_api::{ConnectionState, Snapshot};
use mpt_core::Seal;

use super::fleet::{Fleet, Load};
use super::kernel::{self, Kernel};
use super::numbers::Numbers;
use super::packet::{INNER, Lengths};
use super::site::{self, SINK, Site, Waiting};
use crate::console::interrupt::Interrupt;
use crate::machine::usage;
use crate::measurements::turns::order;

/// The longest time that all clients together may take to connect.
pub(super) const CONNECT: Duration = Duration::from_secs(60);
/// Time to wait after a change until the state counts as usual.
pub(super) const SETTLE: Duration = Duration::from_secs(1);
/// Turns in which times with each load follow each other, with one without load between them. The cost of packets is the difference: a small one of
/// two large figures where many clients are probed, and the speed of a machine changes from minute to minute.
const TURNS: u32 = 8;
/// Flows of the packets to clients, as many as of those from them.
const FLOWS: u16 = 1000;

/// The results.
#[derive(Debug)]
pub(super) struct Measured {
    /// Time from the first handshake until every path of every client was up.
    pub(super) connected: Duration,
    /// Bytes of the daemon's memory for each client while nothing but probes flows.
    pub(super) memory: f64,
    /// Costs of the loads.
    pub(super) loads: Loads,
    /// Costs of the kernel alone for datagrams to the clients.
    pub(super) kernel: Kernel,
    /// Clients that were not up at both ends in the end.
    pub(super) lost: usize,
}

/// Sets it up, measures, takes it down. The data of all clients are sealed or not.
pub(super) fn measure(
    program: &Path,
    (count, seal): (u16, Seal),
    rate: u32,
    each: Duration,
    interrupt: &Interrupt,
) -> Result<Measured> {
    let site = Site::new(program, count, Waiting::Default, seal, interrupt)?;
    let pid = site.daemon.id();
    let empty = usage::memory(pid)?.resident;
    let mut fleet = Fleet::new(site.clients(), count, seal)?;

    let start = Instant::now();
    let all = usize::from(count);
    fleet.run(CONNECT, None, interrupt, |fleet| fleet.up() == all)?;
    let connected = start.elapsed();
    if fleet.up() < all {
        bail!(
            "{} of {count} are up after {} s; mptd:\n{}",
            fleet.up(),
            CONNECT.as_secs(),
            site.daemon.log_tail()
        );
    }
    let rig = Rig { site: &site, count, rate, each: each / TURNS, interrupt };
    rig.live(&mut fleet, SETTLE, None)?;
    let memory = usage::memory(pid)?.resident.saturating_sub(empty) as f64 / f64::from(count);

    // The sink is not read: the kernel drops packets that do not fit, behind everything that is measured.
    let sink = (site::inner_address(), SINK);
    let _sink = site.server().run(|| UdpSocket::bind(sink))?.context("cannot bind the sink")?;
    let loads = rig.measure(&mut fleet)?;
    let there = Counts::of(&site)?.up;
    let lost = (all - fleet.up()).max(all.saturating_sub(there));
    drop(fleet);
    let kernel = kernel::measure(&site, count, rate, each, interrupt)?;
    site.stop()?;
    Ok(Measured { connected, memory, loads, kernel, lost })
}

/// The costs of packets in both directions.
#[derive(Debug)]
pub(super) struct Loads {
    /// CPU seconds per second while only probes flow.
    pub(super) idle_cores: f64,
    /// Probes answered per second, most of the time beside a load.
    pub(super) probes: f64,
    /// CPU seconds for each packet from a client.
    pub(super) up: f64,
    /// CPU seconds for each packet to a client, where all have one length.
    pub(super) down: f64,
    /// CPU seconds for each packet to a client, where no two in a row have one length.
    pub(super) down_apart: f64,
    /// Share of the packets, in both directions, that did not arrive.
    pub(super) loss: f64,
}

/// The packets of a load, and what the daemon has used while they flowed.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    sent: u64,
    /// How many of them have arrived.
    arrived: u64,
    /// How many of them were sent in `time`.
    watched: u64,
    /// CPU seconds of the daemon in `time`, without those for probes once that is known.
    used: f64,
    /// Duration in seconds.
    time: f64,
}

impl Window {
    /// Returns it without the CPU seconds that the daemon uses anyway, so many per second.
    fn beyond(self, cores: f64) -> Self {
        Self { used: self.used - cores * self.time, ..self }
    }

    /// Returns the CPU seconds for each packet that has arrived.
    fn cost(&self) -> f64 {
        let share = self.arrived as f64 / self.sent.max(1) as f64;
        self.used / (self.watched.max(1) as f64 * share)
    }
}

impl AddAssign for Window {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.arrived += other.arrived;
        self.watched += other.watched;
        self.used += other.used;
        self.time += other.time;
    }
}

/// The daemon and the load that is measured.
struct Rig<'a> {
    site: &'a Site,
    count: u16,
    rate: u32,
    /// Duration of a window.
    each: Duration,
    interrupt: &'a Interrupt,
}

impl Rig<'_> {
    /// Measures each load in [`TURNS`].
    fn measure(&self, fleet: &mut Fleet) -> Result<Loads> {
        let [mut up, mut equal, mut apart] = [Window::default(); 3];
        let (before, begun) = (Counts::of(self.site)?, Instant::now());
        let mut last = self.idle(fleet)?;
        let mut idle = vec![last];
        for turn in 0..TURNS {
            for load in order(turn, 3) {
                let (sum, window) = match load {
                    0 => (&mut up, self.up(fleet)?),
                    1 => (&mut equal, self.down(fleet, Lengths::Equal)?),
                    _ => (&mut apart, self.down(fleet, Lengths::Growing)?),
                };
                let next = self.idle(fleet)?;
                *sum += window.beyond((last + next) / 2.0);
                last = next;
                idle.push(next);
            }
        }
        let (after, time) = (Counts::of(self.site)?, begun.elapsed().as_secs_f64());
        up.arrived = after.data - before.data;

        let loads = [&up, &equal, &apart];
        let sent: u64 = loads.iter().map(|it| it.sent).sum();
        let arrived: u64 = loads.iter().map(|it| it.arrived.min(it.sent)).sum();
        let [up, down, down_apart] = loads.map(Window::cost);
        Ok(Loads {
            idle_cores: idle.iter().sum::<f64>() / idle.len() as f64,
            probes: (after.echoes - before.echoes) as f64 / time,
            loss: 1.0 - arrived as f64 / sent as f64,
            up,
            down,
            down_apart,
        })
    }

    /// Returns the CPU seconds per second that the daemon uses while only probes flow.
    fn idle(&self, fleet: &mut Fleet) -> Result<f64> {
        self.live(fleet, SETTLE / 4, None)?;
        let window = self.watch(fleet, None)?;
        Ok(window.used / window.time)
    }

    /// Returns the packets from the clients, and what the daemon uses for them. Those that arrive are not counted.
    fn up(&self, fleet: &mut Fleet) -> Result<Window> {
        let load = Some(Load { rate: self.rate, numbers: Numbers::InTurn });
        let settling = self.live(fleet, SETTLE / 4, load)?;
        let window = self.watch(fleet, load)?;
        Ok(Window { sent: settling + window.watched, ..window })
    }

    /// Returns the packets to the clients, and what the daemon uses for them.
    fn down(&self, fleet: &mut Fleet, lengths: Lengths) -> Result<Window> {
        let before = fleet.received();
        let source = Source::start(self.site, self.count, self.rate, lengths)?;
        self.live(fleet, SETTLE / 4, None)?;
        let settled = source.sent();
        let window = self.watch(fleet, None)?;
        let watched = source.sent() - settled;
        let sent = source.stop();
        self.live(fleet, SETTLE / 4, None)?;
        let arrived = (fleet.received() - before).min(sent);
        Ok(Window { sent, arrived, watched, ..window })
    }

    /// Returns what the daemon uses while a load of the clients flows, or none.
    fn watch(&self, fleet: &mut Fleet, load: Option<Load>) -> Result<Window> {
        let pid = self.site.daemon.id();
        let (before, begun) = (usage::cpu_time(pid)?, Instant::now());
        let watched = self.live(fleet, self.each, load)?;
        let used = (usage::cpu_time(pid)? - before).as_secs_f64();
        let time = begun.elapsed().as_secs_f64();
        Ok(Window { watched, used, time, ..Window::default() })
    }

    fn live(&self, fleet: &mut Fleet, time: Duration, load: Option<Load>) -> Result<u64> {
        fleet.run(time, load, self.interrupt, |_| false)
    }
}

/// Counters of the daemon.
#[derive(Debug, Clone, Copy)]
struct Counts {
    /// Connections that are up.
    up: usize,
    /// Inner packets received.
    data: u64,
    /// Probes answered.
    echoes: u64,
}

impl Counts {
    fn of(site: &Site) -> Result<Self> {
        let Snapshot { connections, daemon, .. } = site.daemon.snapshot()?;
        let up = connections.iter().filter(|it| it.state == ConnectionState::Up).count();
        let data = connections.iter().map(|it| it.received.packets).sum();
        let echoes = daemon.control.get("echoes_sent").copied().unwrap_or(0);
        Ok(Self { up, data, echoes })
    }
}

/// A source of packets from the server's own kernel to the clients, in turns.
struct Source {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    sender: Option<JoinHandle<()>>,
}

impl Source {
    fn start(site: &Site, count: u16, rate: u32, lengths: Lengths) -> Result<Self> {
        let addresses = clients(&site.daemon.snapshot()?)?;
        if addresses.len() != usize::from(count) {
            bail!("{} of {count} clients have an address", addresses.len());
        }
        let from = (site::inner_address(), 0);
        let socket = site.server().run(|| UdpSocket::bind(from))?.context("cannot bind")?;
        let (stop, sent) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (seen, counted) = (Arc::clone(&stop), Arc::clone(&sent));
        let work = move || {
            let (start, payload) = (Instant::now(), [0; INNER * 2]);
            let mut number = 0_u64;
            while !seen.load(Ordering::Relaxed) {
                let due = (start.elapsed().as_secs_f64() * f64::from(rate)) as u64;
                while number < due {
                    let address = addresses[(number % addresses.len() as u64) as usize];
                    let port = 10_000 + (number % u64::from(FLOWS)) as u16;
                    let payload = &payload[..lengths.payload(number)];
                    let _ = socket.send_to(payload, SocketAddr::new(address, port));
                    number += 1;
                }
                counted.store(number, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(1));
            }
        };
        let sender = thread::Builder::new().name("source".into()).spawn(work)?;
        Ok(Self { stop, sent, sender: Some(sender) })
    }

    fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Ends it, and returns the number of packets sent.
    fn stop(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        // It returns nothing, and a panic of it has been shown.
        let _ = self.sender.take().map(JoinHandle::join);
        self.sent()
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Returns the inner address of every client.
pub(super) fn clients(snapshot: &Snapshot) -> Result<Vec<std::net::IpAddr>> {
    let address = |it: &mpt_api::Connection| it.networks.first().map(|network| network.addr());
    let addresses: Option<Vec<_>> = snapshot.connections.iter().map(address).collect();
    addresses.context("a client has no inner address")
}
