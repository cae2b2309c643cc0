//! Converts the configuration's and the API's words into the engine's.

use std::net::SocketAddr;

use mpt_config as config;
use mpt_core::{
    ConnectionConfig, DeviceId, Direction, Mapping, PathConfig, PortRange, RateBounds, Remote,
    Seal, Selector, SocketId, reorder,
};
use mpt_wire::ecn;
use mpt_wire::ip::Version;

/// A connection for the endpoint.
#[must_use]
pub(crate) fn connection(
    config: &config::Connection,
    device: DeviceId,
    paths: Vec<PathConfig>,
) -> ConnectionConfig {
    ConnectionConfig {
        name: config.name.clone(),
        device,
        selectors: config.selectors.iter().map(selector).collect(),
        sources: config.networks.clone(),
        prompt: config.prompt.iter().map(selector).collect(),
        protect: mpt_core::Protect {
            on: config.protected.iter().map(selector).collect(),
            off: config.unprotected.iter().map(selector).collect(),
        },
        key: config.key,
        checksum: config.checksum,
        sequence: config.sequence,
        direction: match config.direction {
            mpt_api::Direction::Both => Direction::Both,
            mpt_api::Direction::Send => Direction::Send,
            mpt_api::Direction::Receive => Direction::Receive,
        },
        mapping: match config.mapping {
            mpt_api::Mapping::Packet => Mapping::Packet,
            mpt_api::Mapping::Adaptive => Mapping::Adaptive,
            mpt_api::Mapping::Flow => Mapping::Flow,
            mpt_api::Mapping::Duplicate => Mapping::Duplicate,
        },
        reorder: reorder(&config.reorder),
        multicast: config.multicast,
        copy_dscp: config.copy_dscp,
        ecn: match config.ecn {
            mpt_api::Ecn::Compatibility => ecn::Mode::Compatibility,
            mpt_api::Ecn::Normal => ecn::Mode::Normal,
        },
        mtu: config.compat.as_ref().map(|_| prototype_mtu(config)),
        repair: match config.repair {
            mpt_api::Repair::Auto => mpt_core::Repair::Auto,
            mpt_api::Repair::All => mpt_core::Repair::All,
            mpt_api::Repair::Off => mpt_core::Repair::Off,
        },
        limits_device: true,
        seal: seal(config.seal),
        loose: config.compat.is_some(),
        paths,
    }
}

/// Converts the setting for the sealing of data.
#[must_use]
pub(crate) fn seal(seal: mpt_api::Seal) -> Seal {
    match seal {
        mpt_api::Seal::Off => Seal::Off,
        mpt_api::Seal::On => Seal::On,
        mpt_api::Seal::Require => Seal::Require,
    }
}

/// Largest inner packet that the papers' prototype receives whole, in bytes.
fn prototype_mtu(config: &config::Connection) -> u16 {
    let gre = if config.sends_sequence() { 8 } else { 4 };
    mpt_wire::compat::MAX_DATAGRAM_LEN as u16 - gre
}

/// The bounds of what is learnt of a path: those of the configuration, which are checked.
#[must_use]
fn rates(config: &config::Path) -> RateBounds {
    RateBounds::new(config.min_rate, config.max_rate).unwrap_or_default()
}

/// A path for the endpoint, arriving on these sockets.
#[must_use]
pub(crate) fn path(config: &config::Path, link_mtu: u16, sockets: Vec<SocketId>) -> PathConfig {
    PathConfig {
        name: config.name.clone(),
        sockets,
        local: config.local,
        remote: match config.remote.address() {
            Some(address) => Remote::Fixed(SocketAddr::new(address, config.remote_port)),
            None if config.is_ipv6() => Remote::Sought(Version::V6),
            None => Remote::Sought(Version::V4),
        },
        remote_source_port: config.remote_source_port,
        weight_out: config.weight,
        weight_in: config.weight_in,
        rates: rates(config),
        tier: config.tier,
        up: config.up,
        mtu: config.mtu.unwrap_or(link_mtu),
        entropy: config.source_port == config::SourcePort::Entropy,
    }
}

/// The receive window.
#[must_use]
pub(crate) fn reorder(config: &config::Reorder) -> reorder::Config {
    reorder::Config {
        window: config.window,
        max_delay: config.max_delay,
        early_release: config.early_release,
        late: match config.late {
            mpt_api::Late::Deliver => reorder::Late::Deliver,
            mpt_api::Late::Drop => reorder::Late::Drop,
        },
        equalize: match config.equalize {
            mpt_api::Equalize::Off => reorder::Equalize::Off,
            mpt_api::Equalize::Tcp => reorder::Equalize::Tcp,
            mpt_api::Equalize::All => reorder::Equalize::All,
        },
    }
}

fn selector(config: &config::Selector) -> Selector {
    let ports = |range: config::PortRange| PortRange::new(range.first, range.last);
    Selector {
        destination: config.destination,
        source: config.source,
        protocol: config.protocol,
        destination_ports: config.destination_port.and_then(ports),
        source_ports: config.source_port.and_then(ports),
        dscp: config.dscp,
    }
}

/// Returns how often paths are probed.
#[must_use]
pub(crate) fn timing(timing: &config::Timing) -> mpt_core::liveness::Timing {
    mpt_core::liveness::Timing {
        keepalive: timing.keepalive,
        idle: timing.idle_keepalive,
        dead: timing.dead,
    }
}
