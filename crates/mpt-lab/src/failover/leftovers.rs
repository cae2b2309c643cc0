//! What a daemon holds, to see that it holds no more after many changes than before.

use std::fs;

use anyhow::{Context, Result};
use mpt_linux::netlink::Netlink;

use super::rig::Rig;
use crate::topology::End;
use crate::usage;

/// Memory may grow by that much, in bytes: allocators keep what they once had.
const GROWTH: u64 = 8 * 1024 * 1024;
/// Packets may wait for a busy interface at the moment of the look, in bytes.
const WAITING: u64 = 1024 * 1024;

/// What both daemons hold.
#[derive(Debug)]
pub(super) struct Holdings([Holding; 2]);

#[derive(Debug, Clone, Copy)]
struct Holding {
    descriptors: usize,
    threads: usize,
    rules: usize,
    routes: usize,
    paths: usize,
    buffers: u64,
    resident: u64,
}

impl Holdings {
    /// What they hold now.
    pub(super) fn of(rig: &Rig<'_>) -> Result<Self> {
        Ok(Self([holding(rig, End::A)?, holding(rig, End::B)?]))
    }

    /// How many kinds of things there are more of than in `before`.
    pub(super) fn more_than(&self, before: &Self) -> f64 {
        let kinds = self.0.iter().zip(&before.0).flat_map(|(now, then)| {
            [
                now.descriptors > then.descriptors,
                now.threads > then.threads,
                now.rules > then.rules,
                now.routes > then.routes,
                now.paths > then.paths,
                now.buffers > then.buffers + WAITING,
                now.resident > then.resident + GROWTH,
            ]
        });
        kinds.filter(|&more| more).count() as f64
    }
}

fn holding(rig: &Rig<'_>, end: End) -> Result<Holding> {
    let daemon = rig.daemon(end)?;
    let entries = |kind: &str| {
        let path = format!("/proc/{}/{kind}", daemon.id());
        Ok::<_, anyhow::Error>(fs::read_dir(&path).context(path)?.count())
    };
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
        descriptors: entries("fd")?,
        threads: entries("task")?,
        rules,
        routes,
        paths: snapshot.connections.iter().map(|connection| connection.paths.len()).sum(),
        buffers: snapshot.daemon.buffer_bytes,
        resident: usage::memory(daemon.id())?.resident,
    })
}
