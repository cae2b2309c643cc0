//! The resources that a daemon holds, to see that it holds no more after many changes than before.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use mpt_linux::netlink::Netlink;
use procfs::process::Process;

use crate::machine::usage;
use crate::measurements::failover::rig::Rig;
use crate::topology::End;

/// Growth of memory that is allowed, in bytes: allocators keep what they once had.
const GROWTH: u64 = 8 * 1024 * 1024;
/// Packets that may wait for a busy interface at the moment of the look, in bytes.
const WAITING: u64 = 1024 * 1024;

/// Number of looks, one every [`PAUSE`], after which resources on their way out are gone (a control connection that the daemon has yet to close,
/// memory to be given back); the rest stays.
const LOOKS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(200);

/// The resources that both daemons hold.
#[derive(Debug)]
pub(crate) struct Holdings([Holding; 2]);

#[derive(Debug, Clone, Copy)]
struct Holding {
    descriptors: u64,
    threads: u64,
    rules: u64,
    routes: u64,
    paths: u64,
    buffers: u64,
    resident: u64,
}

impl Holdings {
    /// Returns what they hold now.
    pub(crate) fn of(rig: &Rig<'_>) -> Result<Self> {
        Ok(Self([holding(rig, End::A)?, holding(rig, End::B)?]))
    }

    /// Returns how many kinds of things the daemons go on to hold more of than of these; which, is told on standard error.
    pub(crate) fn left_over(&self, rig: &Rig<'_>) -> Result<f64> {
        let mut more = Vec::new();
        for _ in 0..LOOKS {
            more = Self::of(rig)?.more_than(self);
            if more.is_empty() {
                break;
            }
            thread::sleep(PAUSE);
        }
        more.iter().for_each(|kind| eprintln!("left over: {kind}"));
        Ok(more.len() as f64)
    }

    fn more_than(&self, before: &Self) -> Vec<String> {
        let mut more = Vec::new();
        for (end, (now, then)) in ["a", "b"].iter().zip(self.0.iter().zip(&before.0)) {
            for (kind, now, then, allowance) in [
                ("descriptors", now.descriptors, then.descriptors, 0),
                ("threads", now.threads, then.threads, 0),
                ("rules", now.rules, then.rules, 0),
                ("routes", now.routes, then.routes, 0),
                ("paths", now.paths, then.paths, 0),
                ("bytes of buffers", now.buffers, then.buffers, WAITING),
                ("bytes of memory", now.resident, then.resident, GROWTH),
            ] {
                if now > then + allowance {
                    more.push(format!("mptd {end}: {now} {kind}, {then} before"));
                }
            }
        }
        more
    }
}

fn holding(rig: &Rig<'_>, end: End) -> Result<Holding> {
    let daemon = rig.daemon(end)?;
    let process = Process::new(i32::try_from(daemon.id())?)?;
    let snapshot = daemon.snapshot()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (rules, routes) = runtime.block_on(async {
        let netlink = Netlink::connect_in(rig.network.host(end).namespace())?;
        Ok::<_, anyhow::Error>((
            netlink.own_rules().await?.len(),
            netlink.own_routes().await?.len(),
        ))
    })?;
    Ok(Holding {
        descriptors: process.fd_count()? as u64,
        threads: process.tasks()?.count() as u64,
        rules: rules as u64,
        routes: routes as u64,
        paths: snapshot.connections.iter().map(|it| it.paths.len() as u64).sum(),
        buffers: snapshot.daemon.buffer_bytes,
        resident: usage::memory(daemon.id())?.resident,
    })
}
