//! Changes at run time: each takes effect with the next packet, and touches nothing else.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use mpt_core::{DeviceId, DownReason, PathId, SocketId};
use mpt_linux::poller::Interest;
use mpt_linux::tun::Tun;
use thiserror::Error;

use super::DataThread;
use super::device::Device;
use super::names::ConnectionNames;
use super::path::PathIo;
use super::sockets::SocketKey;
use super::token::Token;
use crate::config::{self, SourcePort};
use crate::convert;

/// Source ports of an entropy path. Routers that balance by flow need a few to choose from, not one for each flow.
const ENTROPY_POOL: usize = 16;

/// A connection as configured, with what the system says of its paths, in the same order.
#[derive(Clone, Debug)]
pub struct NewConnection {
    /// As configured.
    pub config: config::Connection,
    /// Its paths.
    pub paths: Vec<NewPath>,
}

/// A path as configured, with what the system says of it.
#[derive(Clone, Debug)]
pub struct NewPath {
    /// As configured.
    pub config: config::Path,
    /// The link's MTU in bytes, where the configuration names none.
    pub link_mtu: u16,
    /// Whether its interface can carry packets now.
    pub carrier: bool,
}

/// Why a change was refused. Nothing of it was done.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ChangeError {
    #[error("there is no connection \"{0}\"")]
    NoConnection(String),
    #[error("connection \"{connection}\" has no path \"{path}\"")]
    NoPath { connection: String, path: String },
    #[error("there is no device \"{0}\"")]
    NoDevice(String),
    #[error("connection \"{connection}\", path \"{path}\": bind UDP {local}: {source}")]
    Bind { connection: String, path: String, local: SocketAddr, source: io::Error },
    #[error("{0}")]
    Config(#[from] mpt_core::ConfigError),
    #[error("watch a descriptor: {0}")]
    Poll(#[from] io::Error),
}

impl DataThread {
    /// Takes over an open TUN device.
    pub fn add_device(&mut self, tun: Tun) -> Result<(), ChangeError> {
        let index = free_slot(&mut self.devices);
        let id = DeviceId(index as u16);
        self.poller.add(&tun, Token::Device(id.0).into(), Interest::Read)?;
        self.names.devices.insert(tun.name().into(), id);
        self.devices[index] = Some(Device::new(tun));
        Ok(())
    }

    /// Closes a device, which removes it from the system. Its connections have to be gone.
    pub fn remove_device(&mut self, name: &str) -> Result<(), ChangeError> {
        let id = self.names.devices.remove(name).ok_or_else(|| ChangeError::NoDevice(name.into()))?;
        if let Some(device) = self.devices[usize::from(id.0)].take() {
            let _ = self.poller.remove(&device.tun);
        }
        Ok(())
    }

    /// Adds a connection with all its paths, or nothing.
    pub fn add_connection(&mut self, new: &NewConnection) -> Result<(), ChangeError> {
        let device = *self
            .names
            .devices
            .get(&new.config.device)
            .ok_or_else(|| ChangeError::NoDevice(new.config.device.clone()))?;
        let now = Instant::now();
        let mut io: Vec<PathIo> = Vec::with_capacity(new.paths.len());
        let result = new
            .paths
            .iter()
            .try_for_each(|path| {
                io.push(self.open_path(&new.config, path)?);
                Ok(())
            })
            .and_then(|()| {
                let paths = new.paths.iter().zip(&io).map(|(path, io)| self.path_config(path, io));
                let config = convert::connection(&new.config, device, paths.collect());
                Ok(self.endpoint.add_connection(now, config)?)
            });
        let id = match result {
            Ok(id) => id,
            Err(error) => {
                io.iter().for_each(|path| self.close_path(path));
                return Err(error);
            }
        };
        let mut names = ConnectionNames { id, paths: Default::default() };
        for ((path, io), new) in self.endpoint.paths_of(id).zip(io).zip(&new.paths) {
            names.paths.insert(new.config.name.clone(), path);
            place(&mut self.paths, path, io);
        }
        for (new, &path) in new.paths.iter().filter_map(|new| Some((new, names.paths.get(&new.config.name)?))) {
            if !new.carrier {
                self.endpoint.set_path_state(now, path, DownReason::Carrier, true);
            }
        }
        self.names.connections.insert(new.config.name.clone(), names);
        Ok(())
    }

    /// Removes a connection; what waits in its window is delivered.
    pub fn remove_connection(&mut self, name: &str) -> Result<(), ChangeError> {
        let names = self
            .names
            .connections
            .remove(name)
            .ok_or_else(|| ChangeError::NoConnection(name.into()))?;
        let endpoint = &mut self.endpoint;
        self.ingress.deliver(&mut self.devices, |sink| endpoint.remove_connection(names.id, sink));
        for path in names.paths.into_values() {
            self.drop_path(path);
        }
        Ok(())
    }

    /// Adds a path to a connection.
    pub fn add_path(&mut self, connection: &config::Connection, new: &NewPath) -> Result<(), ChangeError> {
        let missing = || ChangeError::NoConnection(connection.name.clone());
        let id = self.names.connections.get(&connection.name).ok_or_else(missing)?.id;
        let now = Instant::now();
        let io = self.open_path(connection, new)?;
        let config = self.path_config(new, &io);
        let path = match self.endpoint.add_path(now, id, config) {
            Ok(path) => path,
            Err(error) => {
                self.close_path(&io);
                return Err(error.into());
            }
        };
        place(&mut self.paths, path, io);
        if !new.carrier {
            self.endpoint.set_path_state(now, path, DownReason::Carrier, true);
        }
        if let Some(names) = self.names.connections.get_mut(&connection.name) {
            names.paths.insert(new.config.name.clone(), path);
        }
        Ok(())
    }

    /// Removes a path from a connection.
    pub fn remove_path(&mut self, connection: &str, path: &str) -> Result<(), ChangeError> {
        let (_, id) = self.find_path(connection, path)?;
        let endpoint = &mut self.endpoint;
        self.ingress.deliver(&mut self.devices, |sink| endpoint.remove_path(Instant::now(), id, sink));
        if let Some(names) = self.names.connections.get_mut(connection) {
            names.paths.remove(path);
        }
        self.drop_path(id);
        Ok(())
    }

    /// Changes weights, tier or the administrative state of a path.
    pub fn change_path(
        &mut self,
        connection: &str,
        path: &str,
        change: &mpt_api::PathChange,
    ) -> Result<(), ChangeError> {
        let (_, id) = self.find_path(connection, path)?;
        let now = Instant::now();
        if change.weight.is_some() || change.weight_in.is_some() {
            self.endpoint.set_weights(now, id, change.weight.map(u16::from), change.weight_in.map(u16::from))?;
        }
        if let Some(tier) = change.tier {
            self.endpoint.set_tier(now, id, tier);
        }
        if let Some(up) = change.up {
            self.endpoint.set_path_state(now, id, DownReason::Administrative, !up);
        }
        Ok(())
    }

    /// The interface below a path can carry packets, or cannot. `reopen`: it is a new one of the same name.
    pub fn set_carrier(&mut self, connection: &str, path: &str, carrier: bool) -> Result<(), ChangeError> {
        let (_, id) = self.find_path(connection, path)?;
        self.endpoint.set_path_state(Instant::now(), id, DownReason::Carrier, !carrier);
        Ok(())
    }

    /// An interface came back under its old name: sockets bound to it are opened anew.
    pub fn reopen_sockets(&mut self, interface: &str) -> Result<(), ChangeError> {
        Ok(self.sockets.reopen(&self.poller, interface)?)
    }

    /// Changes the receive window of a connection.
    pub fn set_reorder(&mut self, connection: &str, reorder: &config::Reorder) -> Result<(), ChangeError> {
        let missing = || ChangeError::NoConnection(connection.into());
        let id = self.names.connections.get(connection).ok_or_else(missing)?.id;
        let endpoint = &mut self.endpoint;
        self.ingress.deliver(&mut self.devices, |sink| {
            endpoint.set_reorder(id, convert::reorder(reorder), sink);
        });
        Ok(())
    }

    /// The inner MTU of a device: the smallest over its connections; `None` while it has none.
    pub fn inner_mtu(&self, device: &str) -> Option<u16> {
        let id = *self.names.devices.get(device)?;
        self.endpoint.inner_mtu(id)
    }

    fn find_path(&self, connection: &str, path: &str) -> Result<(mpt_core::ConnectionId, PathId), ChangeError> {
        if !self.names.connections.contains_key(connection) {
            return Err(ChangeError::NoConnection(connection.into()));
        }
        self.names
            .path(connection, path)
            .ok_or_else(|| ChangeError::NoPath { connection: connection.into(), path: path.into() })
    }

    /// Opens what a path needs: where it listens and where it sends from.
    fn open_path(&mut self, connection: &config::Connection, new: &NewPath) -> Result<PathIo, ChangeError> {
        let path = &new.config;
        let any = if path.remote.is_ipv4() {
            IpAddr::from(Ipv4Addr::UNSPECIFIED)
        } else {
            IpAddr::from(Ipv6Addr::UNSPECIFIED)
        };
        let key = SocketKey {
            local: path.local.unwrap_or(any),
            interface: path.interface.clone(),
            checksum: connection.udp_checksum || path.remote.is_ipv6(),
        };
        let mut opened: Vec<SocketId> = Vec::new();
        let mut open = |port: Option<u16>| {
            let result = match port {
                Some(port) => self.sockets.open(&self.poller, &key, port),
                None => self.sockets.open_random(&self.poller, &key),
            };
            let local = SocketAddr::new(key.local, port.unwrap_or(0));
            let bind = |source| ChangeError::Bind {
                connection: connection.name.clone(),
                path: path.name.clone(),
                local,
                source,
            };
            let id = result.map_err(bind)?;
            opened.push(id);
            Ok(id)
        };
        let sockets = (|| {
            let listening = open(Some(path.local_port))?;
            let sources = match path.source_port {
                SourcePort::Fixed(port) => vec![open(Some(port))?],
                SourcePort::Random => vec![open(None)?],
                SourcePort::Entropy => (0..ENTROPY_POOL).map(|_| open(None)).collect::<Result<_, _>>()?,
            };
            Ok((listening, sources))
        })();
        match sockets {
            Ok((listening, sources)) => {
                let remote = SocketAddr::new(path.remote, path.remote_port);
                Ok(PathIo::new(remote, vec![listening], &sources))
            }
            Err(error) => {
                opened.into_iter().for_each(|id| self.sockets.close(&self.poller, id));
                Err(error)
            }
        }
    }

    fn path_config(&self, new: &NewPath, io: &PathIo) -> mpt_core::PathConfig {
        let sources = io.channels.iter().map(|channel| channel.socket);
        let sockets = io.listening.iter().copied().chain(sources).collect();
        convert::path(&new.config, new.link_mtu, sockets)
    }

    fn drop_path(&mut self, id: PathId) {
        if let Some(io) = self.paths.get_mut(id.0 as usize).and_then(Option::take) {
            self.close_path(&io);
        }
        self.waiting.retain(|stuck| stuck.path != id);
    }

    fn close_path(&mut self, io: &PathIo) {
        let sources = io.channels.iter().map(|channel| channel.socket);
        for socket in io.listening.iter().copied().chain(sources) {
            self.sockets.close(&self.poller, socket);
        }
    }
}

fn free_slot<T>(slots: &mut Vec<Option<T>>) -> usize {
    slots.iter().position(Option::is_none).unwrap_or_else(|| {
        slots.push(None);
        slots.len() - 1
    })
}

fn place(paths: &mut Vec<Option<PathIo>>, id: PathId, io: PathIo) {
    let index = id.0 as usize;
    if paths.len() <= index {
        paths.resize_with(index + 1, || None);
    }
    paths[index] = Some(io);
}
