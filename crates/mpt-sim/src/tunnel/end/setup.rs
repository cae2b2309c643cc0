//! The configuration of the ends of a tunnel.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ipnet::{IpNet, Ipv4Net};
use mpt_core::liveness::Timing;
use mpt_core::path::mtu;
use mpt_core::session::{PrivateKey, SessionConfig};
use mpt_core::{ConnectionConfig, DeviceId, Direction, PathConfig, Remote, Selector, SocketId};
use mpt_wire::control::Kind;
use mpt_wire::{ecn, gre};

use crate::kernel::random::derive;

use crate::tunnel::plan::TunnelPlan;
use crate::tunnel::traffic::content::host;

pub(super) const DEVICE: DeviceId = DeviceId(0);
/// MTU of every path.
pub(in crate::tunnel) const PATH_MTU: u16 = mtu::ETHERNET;
/// The end that begins the handshake.
const INITIATOR: usize = 0;
/// First component of a seed that the ends take random numbers from; those of the links are the components from 0 on.
const FIRST_COMPONENT: u64 = 1 << 32;
const NAME: &str = "tunnel";

/// Returns the component of a seed that an end takes its random numbers from.
pub(super) fn component(tunnel: usize, side: usize) -> u64 {
    FIRST_COMPONENT + 2 * tunnel as u64 + side as u64
}

/// Returns 32 bytes of a seed.
pub(in crate::tunnel) fn seed(seed: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (index, word) in (0..).zip(bytes.chunks_mut(8)) {
        word.copy_from_slice(&derive(seed, index).to_be_bytes());
    }
    bytes
}

/// Returns the key of an end. It has no effect on costs, so all runs have the same.
pub(super) fn identity(side: usize) -> PrivateKey {
    PrivateKey::from_seed(seed(side as u64))
}

/// Returns the configuration of the session of an end, with the daemon's default timers.
pub(in crate::tunnel) fn session(side: usize) -> SessionConfig {
    SessionConfig {
        name: NAME.to_owned(),
        kind: Kind::Connection,
        peer: identity(1 - side).public(),
        psk: None,
        initiate: side == INITIATOR,
        create: false,
        key: None,
        timing: Timing::default(),
        largest_wish: 0,
        seal: mpt_core::Seal::Off,
        remote: None,
    }
}

/// Returns the configuration of the connection of an end.
pub(in crate::tunnel) fn connection(side: usize, plan: &TunnelPlan) -> ConnectionConfig {
    let paths = plan.paths.iter().enumerate().map(|(index, &(_, weight))| {
        let (here, there) = (address(index, side), address(index, 1 - side));
        PathConfig {
            name: format!("path{}", index + 1),
            sockets: vec![socket(index)],
            local: Some(here.ip()),
            remote: Remote::Fixed(there),
            remote_source_port: Some(there.port()),
            weight_out: weight,
            weight_in: weight,
            rates: plan.rates.get(index).copied().unwrap_or_default(),
            tier: 0,
            up: true,
            mtu: PATH_MTU,
            entropy: false,
        }
    });
    let peer: IpNet = Ipv4Net::from(host(1 - side)).into();
    ConnectionConfig {
        name: NAME.to_owned(),
        device: DEVICE,
        selectors: vec![Selector::to(peer)],
        sources: vec![peer],
        key: None,
        checksum: false,
        sequence: true,
        direction: Direction::Both,
        mapping: plan.mapping,
        repair: plan.repair,
        prompt: Vec::new(),
        protect: mpt_core::Protect::default(),
        reorder: plan.reorder,
        multicast: false,
        copy_dscp: false,
        ecn: ecn::Mode::Normal,
        mtu: None,
        limits_device: true,
        seal: mpt_core::Seal::Off,
        loose: false,
        paths: paths.collect(),
    }
}

/// Returns the socket of a path, the same number at both ends.
pub(super) fn socket(path: usize) -> SocketId {
    SocketId(path as u32)
}

/// Returns the address of an end on a path. There are at most 256 paths.
pub(super) fn address(path: usize, side: usize) -> SocketAddr {
    let address = Ipv4Addr::new(172, 16, path as u8, 1 + side as u8);
    SocketAddr::new(IpAddr::V4(address), gre::PORT)
}
