//! The part of a snapshot that one shard knows, and how the parts become the whole.

use mpt_api::Snapshot;
use mpt_api::snapshot as api;
use mpt_config::{self as config, Config};

use crate::data::DataPath;

/// The contribution of one shard to a snapshot.
#[derive(Debug)]
pub(super) struct Part {
    buffer_bytes: u64,
    buffer_limit: u64,
    drops: api::Counters,
    control: api::Counters,
    devices: Vec<api::Device>,
    connections: Vec<api::Connection>,
}

impl Part {
    /// Returns the part of a shard. `connections` are those of the shard; of `devices` it passes over those that others read.
    pub(super) fn of(
        data: &DataPath,
        config: &Config,
        devices: &[config::Device],
        connections: &[config::Connection],
    ) -> Self {
        let (buffer_bytes, buffer_limit) = data.buffer_bytes();
        Self {
            buffer_bytes,
            buffer_limit,
            drops: data.drops(),
            control: data.control_counters(),
            devices: devices.iter().filter_map(|it| data.show_device(config, it)).collect(),
            connections: connections.iter().filter_map(|it| data.show_connection(it)).collect(),
        }
    }

    /// Adds the part to those of other shards.
    pub(super) fn add_to(self, snapshot: &mut Snapshot) {
        let daemon = &mut snapshot.daemon;
        daemon.buffer_bytes += self.buffer_bytes;
        daemon.buffer_limit += self.buffer_limit;
        add(&mut daemon.drops, self.drops);
        add(&mut daemon.control, self.control);
        snapshot.devices.extend(self.devices);
        snapshot.connections.extend(self.connections);
    }
}

fn add(sums: &mut api::Counters, more: api::Counters) {
    for (name, count) in more {
        *sums.entry(name).or_default() += count;
    }
}
