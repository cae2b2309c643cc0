//! One concentrator with a number of clients, and their cost.

use std::net::{SocketAddr, UdpSocket};
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

/// The longest time that all clients together may take to connect.
pub(super) const CONNECT: Duration = Duration::from_secs(60);
/// Time to wait after a change until the state counts as usual.
pub(super) const SETTLE: Duration = Duration::from_secs(1);
/// Flows of the packets to clients, as many as of those from them.
const FLOWS: u16 = 1000;

/// The results.
#[derive(Debug)]
pub(super) struct Measured {
    /// Time from the first handshake until every path of every client was up.
    pub(super) connected: Duration,
    /// Bytes of the daemon's memory for each client while nothing but probes flows.
    pub(super) memory: f64,
    /// CPU seconds per second while only probes flow.
    pub(super) idle_cores: f64,
    /// Probes answered per second while data flow.
    pub(super) probes: f64,
    /// CPU seconds for each packet from a client.
    pub(super) up: f64,
    /// CPU seconds for each packet to a client, where all have one length.
    pub(super) down: f64,
    /// CPU seconds for each packet to a client, where no two in a row have one length.
    pub(super) down_apart: f64,
    /// Costs of the kernel alone for datagrams to the clients.
    pub(super) kernel: Kernel,
    /// Share of the packets, in both directions, that did not arrive.
    pub(super) loss: f64,
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
    let live = |fleet: &mut Fleet, time, load| fleet.run(time, load, interrupt, |_| false);
    live(&mut fleet, SETTLE, None)?;
    let memory = usage::memory(pid)?.resident.saturating_sub(empty) as f64 / f64::from(count);

    let (before, begun) = (usage::cpu_time(pid)?, Instant::now());
    live(&mut fleet, each, None)?;
    let idle_cores = (usage::cpu_time(pid)? - before).as_secs_f64() / begun.elapsed().as_secs_f64();

    // The sink is not read: the kernel drops packets that do not fit, behind everything that is measured.
    let sink = (site::inner_address(), SINK);
    let load = Load { rate, numbers: Numbers::InTurn };
    let _sink = site.server().run(|| UdpSocket::bind(sink))?.context("cannot bind the sink")?;
    live(&mut fleet, SETTLE, Some(load))?;
    let earlier = Counts::of(&site)?;
    let (before, begun) = (usage::cpu_time(pid)?, Instant::now());
    let sent = live(&mut fleet, each, Some(load))?;
    let (used, time) = (usage::cpu_time(pid)? - before, begun.elapsed().as_secs_f64());
    live(&mut fleet, SETTLE, None)?;
    let later = Counts::of(&site)?;
    let arrived = later.data - earlier.data;
    let up = (used.as_secs_f64() - idle_cores * time) / arrived.max(1) as f64;
    let probes = (later.echoes - earlier.echoes) as f64 / (time + SETTLE.as_secs_f64());

    let equal = send_down(&mut fleet, &site, (count, rate), each, Lengths::Equal, interrupt)?;
    let apart = send_down(&mut fleet, &site, (count, rate), each, Lengths::Growing, interrupt)?;
    let cost = |it: &Down| (it.used - idle_cores * it.time) / it.received.max(1) as f64;
    let (down, down_apart) = (cost(&equal), cost(&apart));

    let delivered = arrived.min(sent) + equal.received + apart.received;
    let loss = 1.0 - delivered as f64 / (sent + equal.sent + apart.sent) as f64;
    let there = Counts::of(&site)?.up;
    let lost = (all - fleet.up()).max(all.saturating_sub(there));
    drop(fleet);
    let kernel = kernel::measure(&site, count, rate, each, interrupt)?;
    site.stop()?;
    Ok(Measured { connected, memory, idle_cores, probes, up, down, down_apart, kernel, loss, lost })
}

/// The packets to clients, and their cost.
struct Down {
    sent: u64,
    received: u64,
    /// CPU seconds of the daemon, probes included.
    used: f64,
    /// Duration in seconds.
    time: f64,
}

fn send_down(
    fleet: &mut Fleet,
    site: &Site,
    (count, rate): (u16, u32),
    each: Duration,
    lengths: Lengths,
    interrupt: &Interrupt,
) -> Result<Down> {
    let live = |fleet: &mut Fleet, time| fleet.run(time, None, interrupt, |_| false);
    let pid = site.daemon.id();
    let source = Source::start(site, count, rate, lengths)?;
    live(fleet, SETTLE)?;
    let (sent_before, received_before) = (source.sent(), fleet.received());
    let (before, begun) = (usage::cpu_time(pid)?, Instant::now());
    live(fleet, each)?;
    let (used, time) = (usage::cpu_time(pid)? - before, begun.elapsed().as_secs_f64());
    let sent = source.sent() - sent_before;
    source.stop();
    live(fleet, SETTLE / 4)?;
    let received = (fleet.received() - received_before).min(sent);
    Ok(Down { sent, received, used: used.as_secs_f64(), time })
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

    fn stop(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // It returns nothing, and a panic of it has been shown.
        let _ = self.sender.take().map(JoinHandle::join);
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
