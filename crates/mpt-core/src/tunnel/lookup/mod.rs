//! Everything that is looked up by the contents of a packet, built from the configuration of all
//! connections. To build it is to check that no two connections claim the same packet.

mod assign;
mod selector;

use std::net::IpAddr;

use mpt_wire::ip::Summary;
use rustc_hash::FxHashSet;

pub(crate) use self::assign::Assignments;
pub use self::selector::{PortRange, Selector, SelectorTable};
use crate::{ConfigError, ConnectionConfig, ConnectionId, DeviceId, PathConfig, PathId};

/// The tables.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) selectors: SelectorTable,
    pub(crate) assignments: Assignments,
    pub(crate) outers: Outers,
    /// By device: the connection that carries what stays on the link.
    multicast: Vec<Option<ConnectionId>>,
}

/// A conflict of a connection with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    Selectors(ConnectionId),
    Multicast(ConnectionId),
    /// The path to be added (by its place in the configuration), and the one there is.
    Tuple(usize, PathId),
}

impl Tables {
    /// Adds a connection. After a conflict the tables hold parts of it, until it is removed.
    pub(crate) fn add<'a>(
        &mut self,
        id: ConnectionId,
        config: &ConnectionConfig,
        paths: impl Iterator<Item = (PathId, &'a PathConfig)>,
    ) -> Result<(), Conflict> {
        self.add_selectors(id, config.device, &config.selectors).map_err(Conflict::Selectors)?;
        if config.multicast {
            let device = usize::from(config.device.0);
            if self.multicast.len() <= device {
                self.multicast.resize(device + 1, None);
            }
            if let Some(other) = self.multicast[device] {
                return Err(Conflict::Multicast(other));
            }
            self.multicast[device] = Some(id);
        }
        for (place, (path, path_config)) in paths.enumerate() {
            self.add_path(path, config.key, path_config)
                .map_err(|other| Conflict::Tuple(place, other))?;
        }
        Ok(())
    }

    pub(crate) fn add_selectors(
        &mut self,
        id: ConnectionId,
        device: DeviceId,
        selectors: &[Selector],
    ) -> Result<(), ConnectionId> {
        selectors.iter().try_for_each(|&selector| self.selectors.insert(device, selector, id))
    }

    pub(crate) fn add_path(
        &mut self,
        path: PathId,
        key: Option<u32>,
        config: &PathConfig,
    ) -> Result<(), PathId> {
        self.assignments.insert(path, key, config)?;
        self.outers.insert(config);
        Ok(())
    }

    /// Removes a connection; its paths are removed one by one.
    pub(crate) fn remove(&mut self, id: ConnectionId) {
        self.selectors.remove(id);
        for connection in &mut self.multicast {
            connection.take_if(|&mut other| other == id);
        }
    }

    /// Removes a path; `left` are all others.
    pub(crate) fn remove_path<'a>(
        &mut self,
        path: PathId,
        left: impl Iterator<Item = &'a PathConfig>,
    ) {
        self.assignments.remove(path);
        self.outers = Outers::default();
        left.for_each(|config| self.outers.insert(config));
    }

    #[inline]
    pub(crate) fn multicast(&self, device: DeviceId) -> Option<ConnectionId> {
        self.multicast.get(usize::from(device.0)).copied().flatten()
    }
}

/// Checks a whole configuration: every connection by itself, and all of them together.
pub fn check(configs: &[ConnectionConfig]) -> Result<(), ConfigError> {
    let mut tables = Tables::default();
    let mut names = FxHashSet::default();
    let mut labels = Vec::new();
    for (index, config) in configs.iter().enumerate() {
        config.check()?;
        if !names.insert(&config.name) {
            return Err(ConfigError::DuplicateConnection { name: config.name.clone() });
        }
        let first = labels.len();
        labels.extend(config.paths.iter().map(|path| label(&config.name, &path.name)));
        let paths = (first as u32..).map(PathId::first).zip(&config.paths);
        tables.add(ConnectionId::first(index as u32), config, paths).map_err(|conflict| {
            conflict.explain(
                config,
                |other| configs[other.index()].name.clone(),
                |other| labels[other.index()].clone(),
            )
        })?;
    }
    Ok(())
}

/// Returns how errors name a path.
pub(crate) fn label(connection: &str, path: &str) -> String {
    format!("{connection}/{path}")
}

impl Conflict {
    /// Puts names to it.
    pub(crate) fn explain(
        self,
        config: &ConnectionConfig,
        connection: impl Fn(ConnectionId) -> String,
        path: impl Fn(PathId) -> String,
    ) -> ConfigError {
        let second = config.name.clone();
        match self {
            Self::Selectors(other) => {
                ConfigError::EqualSelectors { first: connection(other), second }
            }
            Self::Multicast(other) => {
                ConfigError::TwoMulticast { first: connection(other), second }
            }
            Self::Tuple(place, other) => ConfigError::SameTuple {
                first: path(other),
                second: label(&second, &config.paths[place].name),
            },
        }
    }
}

/// The outer packets of our own paths: one that comes out of a TUN device has been routed back into
/// the tunnel.
#[derive(Debug, Default)]
pub(crate) struct Outers {
    /// Destination ports of all of them, mostly one: what nearly every other packet fails.
    ports: Vec<u16>,
    /// Source (where known), destination, destination port.
    outers: FxHashSet<(Option<IpAddr>, IpAddr, u16)>,
}

impl Outers {
    fn insert(&mut self, path: &PathConfig) {
        let Some(remote) = path.remote.address() else { return };
        if !self.ports.contains(&remote.port()) {
            self.ports.push(remote.port());
        }
        self.outers.insert((path.local, remote.ip(), remote.port()));
    }

    #[inline]
    pub(crate) fn contains(&self, packet: &Summary) -> bool {
        const UDP: u8 = 17;
        match packet.ports {
            Some((_, port)) if packet.protocol == UDP && self.ports.contains(&port) => {
                [Some(packet.source), None]
                    .iter()
                    .any(|&source| self.outers.contains(&(source, packet.destination, port)))
            }
            _ => false,
        }
    }
}
