//! Memory of a daemon whose buffers are all full, for which the limit of its service (`MemoryMax`) has to leave room.
//!
//! First each client gets bursts over interfaces that are slower, so that datagrams wait for them. Then every client leaves gaps in
//! its numbers, so that its packets wait for those that never come, over the whole of its window, until the daemon holds
//! `buffer_limit`.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mpt_core::Seal;
use mpt_linux::netns;

use super::fleet::{Fleet, Load};
use super::numbers::Numbers;
use super::packet::HELD;
use super::site::{self, PATHS, Site, Waiting};
use super::stage::{CONNECT, SETTLE, clients};
use crate::console::interrupt::Interrupt;
use crate::machine::usage;

/// The shaping of each path while its queue is being filled (tc-tbf(8)).
const SLOW: [&str; 6] = ["rate", "100mbit", "burst", "32kbit", "limit", "8mb"];
/// Packets to one client at once: more than both its paths may hold back (256 KiB each).
const BURST: usize = 420;
/// UDP payload of one of them, in bytes.
const PAYLOAD: usize = 1372;
/// The number of times each client gets a burst.
const ROUNDS: usize = 2;
/// Pause between bursts, in which packets that wait for the interface leave or are dropped, so that each client has the daemon's room for itself.
const PAUSE: Duration = Duration::from_millis(5);
/// Bytes of packets from clients: more than the default `buffer_limit` of 64 MiB.
const FILL: usize = 68 << 20;
/// Packets per second from clients.
const RATE: u32 = 12_000;

/// Resident memory of the daemon in bytes, one state after the other.
#[derive(Debug)]
pub(super) struct Full {
    /// Memory before the first client.
    pub(super) empty: u64,
    /// Memory with all clients connected.
    pub(super) idle: u64,
    /// Memory after bursts to every client over interfaces that are slower.
    pub(super) queued: u64,
    /// Bytes of packets that wait for earlier ones, as the daemon reports them.
    pub(super) waiting: u64,
    /// Memory while they wait.
    pub(super) filled: u64,
    /// Largest memory at any time.
    pub(super) peak: u64,
}

/// Sets it up, measures, takes it down.
pub(super) fn measure(program: &Path, count: u16, interrupt: &Interrupt) -> Result<Full> {
    let site = Site::new(program, count, Waiting::Long, Seal::Off, interrupt)?;
    let pid = site.daemon.id();
    let empty = usage::memory(pid)?.resident;
    let mut fleet = Fleet::new(site.clients(), count, Seal::Off)?;
    let all = usize::from(count);
    fleet.run(CONNECT, None, interrupt, |fleet| fleet.up() == all)?;
    ensure!(fleet.up() == all, "{} of {count} clients are up", fleet.up());
    fleet.run(SETTLE, None, interrupt, |_| false)?;
    let idle = usage::memory(pid)?.resident;

    let addresses = clients(&site.daemon.snapshot()?)?;
    shape(&site, &SLOW)?;
    let source = site.server().run(|| UdpSocket::bind((site::inner_address(), 0)))?;
    let source = source.context("cannot bind")?;
    for _ in 0..ROUNDS {
        for &address in &addresses {
            burst(&source, address);
            fleet.run(PAUSE, None, interrupt, |_| false)?;
        }
    }
    let queued = usage::memory(pid)?.resident;
    for path in 1..=PATHS {
        netns::tc(
            site.server().namespace(),
            &["qdisc", "del", "dev", &format!("path{path}"), "root"],
        )?;
    }
    fleet.run(CONNECT, None, interrupt, |fleet| fleet.up() == all)?;
    ensure!(fleet.up() == all, "{} of {count} clients are up after the bursts", fleet.up());

    let load = Load { rate: RATE, numbers: Numbers::WithGaps };
    let time = Duration::from_secs_f64((FILL / HELD) as f64 / f64::from(RATE));
    fleet.run(time, Some(load), interrupt, |_| false)?;
    let waiting = site.daemon.snapshot()?.daemon.buffer_bytes;
    let usage::Memory { resident: filled, peak } = usage::memory(pid)?;
    drop(fleet);
    site.stop()?;
    Ok(Full { empty, idle, queued, waiting, filled, peak })
}

fn burst(socket: &UdpSocket, address: IpAddr) {
    let payload = [0; PAYLOAD];
    for number in 0..BURST {
        // A packet that the device does not take is lost.
        let _ = socket.send_to(&payload, SocketAddr::new(address, 10_000 + number as u16));
    }
}

fn shape(site: &Site, bucket: &[&str]) -> Result<()> {
    for path in 1..=PATHS {
        let name = format!("path{path}");
        let qdisc = [&["qdisc", "add", "dev", &name, "root", "tbf"], bucket].concat();
        netns::tc(site.server().namespace(), &qdisc)?;
    }
    Ok(())
}
