//! Changes at run time. Each holds from the next packet on and loses none.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;
use std::time::Instant;

use mpt_wire::control::Economy;

use crate::path::{DownReason, Path, mtu};
use crate::tunnel::connection::Connection;
use crate::tunnel::lookup::{Conflict, Tables, check, label};
use crate::tunnel::{DeviceSink, ToDevice, Tunnels};
use crate::{
    ConfigError, ConnectionConfig, ConnectionId, DeviceId, Mapping, PathConfig, PathId, RateBounds,
    SocketId,
};

impl<P: Copy> Tunnels<P> {
    /// Adds a connection, or says what is wrong with it and changes nothing.
    pub(crate) fn add_connection(
        &mut self,
        now: Instant,
        config: ConnectionConfig,
    ) -> Result<ConnectionId, ConfigError> {
        config.check()?;
        if self.find_connection(&config.name).is_some() {
            return Err(ConfigError::DuplicateConnection { name: config.name });
        }
        self.check_room(1, config.paths.len())?;
        let id = self.insert(now, &config);
        if let Err(conflict) = self.add_to_tables(id) {
            let error = self.explain(conflict, &config);
            self.take(id);
            return Err(error);
        }
        Ok(id)
    }

    /// Removes a connection; what waits in its reorder buffer is delivered.
    pub(crate) fn remove_connection<S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        id: ConnectionId,
        sink: &mut S,
    ) {
        if let Some(mut connection) = self.take(id) {
            let device = connection.device();
            if let Some(reorder) = &mut connection.reorder {
                reorder.flush(now, &mut ToDevice { device, sink });
            }
        }
    }

    /// See [`Node::reconfigure`](crate::Node::reconfigure).
    pub(crate) fn reconfigure<S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        configs: Vec<ConnectionConfig>,
        sink: &mut S,
    ) -> Result<Vec<ConnectionId>, ConfigError> {
        check(&configs)?;
        self.check_room(configs.len(), configs.iter().map(|config| config.paths.len()).sum())?;
        let gone: Vec<ConnectionId> = self
            .connections()
            .filter(|(_, connection)| configs.iter().all(|it| it.name != connection.name()))
            .map(|(id, _)| id)
            .collect();
        for id in gone {
            self.remove_connection(now, id, sink);
        }
        let mut ids = Vec::with_capacity(configs.len());
        for config in &configs {
            ids.push(match self.find_connection(&config.name) {
                Some(id) => {
                    self.change(now, id, config, sink);
                    id
                }
                None => self.insert(now, config),
            });
        }
        self.tables = Tables::default();
        for &id in &ids {
            let added = self.add_to_tables(id);
            debug_assert_eq!(added, Ok(()), "checked before");
        }
        Ok(ids)
    }

    /// Adds a path to a connection.
    pub(crate) fn add_path(
        &mut self,
        now: Instant,
        id: ConnectionId,
        config: PathConfig,
    ) -> Result<PathId, ConfigError> {
        let connection = self.connection(id).ok_or(ConfigError::Gone)?;
        let mut whole = (*connection.config).clone();
        whole.paths = self.path_configs(connection).cloned().collect();
        whole.paths.push(config.clone());
        whole.check()?;
        self.check_room(0, 1)?;
        let path = self.insert_path(now, id, config);
        self.refresh_paths(id);
        if let Err(other) = self.add_path_to_tables(path) {
            let error = ConfigError::SameTuple {
                first: self.path_label(other),
                second: self.path_label(path),
            };
            self.remove_path(now, path);
            return Err(error);
        }
        Ok(path)
    }

    /// Removes a path. Packets that it has delivered into the reorder buffer stay there.
    pub(crate) fn remove_path(&mut self, now: Instant, id: PathId) {
        let Some(path) = self.paths.remove(id) else { return };
        let left = self.paths.iter().map(|(_, path)| &*path.config);
        self.tables.remove_path(id, left);
        if let Some(connection) = self.connection_mut(path.connection) {
            connection.detach(now, &path);
        }
        self.refresh_paths(path.connection);
    }

    /// Sets the weights of a path: its share of what we send, and of what the peer sends.
    pub(crate) fn set_weights(
        &mut self,
        now: Instant,
        id: PathId,
        weight_out: u16,
        weight_in: u16,
    ) -> Result<(), ConfigError> {
        let path = self.paths.get(id).ok_or(ConfigError::Gone)?;
        let config = PathConfig { weight_out, weight_in, ..(*path.config).clone() };
        config.check(self.connection_name(path.connection))?;
        self.change_path(now, id, |path| *path.config = config);
        Ok(())
    }

    /// Sets the bounds of the rate that is learnt of a path.
    ///
    /// # Errors
    ///
    /// The mapping of its connection learns no rates, and there is a bound. Then nothing is changed.
    pub(crate) fn set_rates(
        &mut self,
        now: Instant,
        id: PathId,
        rates: RateBounds,
    ) -> Result<(), ConfigError> {
        let path = self.paths.get(id).ok_or(ConfigError::Gone)?;
        let connection = self.connection(path.connection).ok_or(ConfigError::Gone)?;
        if rates != RateBounds::NONE && connection.config.mapping != Mapping::Adaptive {
            let (connection, path) = (connection.name().to_owned(), path.name().to_owned());
            return Err(ConfigError::RatesWithoutAdaptive { connection, path });
        }
        self.change_path(now, id, |path| path.config.rates = rates);
        Ok(())
    }

    /// Sets the tier of a path.
    pub(crate) fn set_tier(&mut self, now: Instant, id: PathId, tier: u8) {
        self.change_path(now, id, |path| path.config.tier = tier);
    }

    /// Sets how sparingly a path is to be used.
    pub(crate) fn set_economy(&mut self, now: Instant, id: PathId, economy: Economy) {
        if self.paths.get(id).is_some_and(|path| path.economy != economy) {
            self.change_path(now, id, |path| path.economy = economy);
        }
    }

    /// Sets how sparingly the peer would like a path to be used.
    pub(crate) fn set_economy_of_peer(&mut self, now: Instant, id: PathId, economy: Economy) {
        if self.paths.get(id).is_some_and(|path| path.economy_of_peer != economy) {
            self.change_path(now, id, |path| path.economy_of_peer = economy);
        }
    }

    /// Takes away a reason for a path to be down; it is up when none is left.
    pub(crate) fn set_path_up(&mut self, now: Instant, id: PathId, reason: DownReason) {
        self.change_path(now, id, |path| path.down = path.down.with(reason, false));
    }

    /// Takes a path out of use. Packets that still arrive on it are accepted.
    pub(crate) fn set_path_down(&mut self, now: Instant, id: PathId, reason: DownReason) {
        self.change_path(now, id, |path| path.down = path.down.with(reason, true));
    }

    /// Sets the MTU of a path's link in bytes of the outer IP packet, no lower than
    /// [`mtu::minimum`]. Gives the device and its new inner MTU if that has changed.
    pub(crate) fn set_path_mtu(&mut self, id: PathId, mtu: u16) -> Option<(DeviceId, u16)> {
        self.change_path_mtu(id, |path| {
            path.config.mtu = mtu.max(mtu::minimum(path.config.outer()));
        })
    }

    /// Sets the largest outer packet that is known to pass on a path, in bytes; `None` where nothing
    /// is known. It counts where it is less than the MTU of the link, down to [`mtu::minimum`]. Gives
    /// the device and its new inner MTU if that has changed.
    pub(crate) fn limit_path_mtu(
        &mut self,
        id: PathId,
        limit: Option<u16>,
    ) -> Option<(DeviceId, u16)> {
        let limit = limit.and_then(NonZeroU16::new);
        if self.paths.get(id)?.known_mtu == limit {
            return None;
        }
        self.change_path_mtu(id, |path| path.known_mtu = limit)
    }

    fn change_path_mtu(
        &mut self,
        id: PathId,
        change: impl FnOnce(&mut Path),
    ) -> Option<(DeviceId, u16)> {
        let path = self.paths.get_mut(id)?;
        change(path);
        let connection = path.connection;
        let device = self.connection(connection)?.device();
        let before = self.inner_mtu(device);
        self.refresh_paths(connection);
        let after = self.inner_mtu(device);
        (before != after).then_some((device, after))
    }

    /// Replaces the sockets on which the packets of a path may arrive, and its local address.
    pub(crate) fn set_path_sockets(
        &mut self,
        id: PathId,
        sockets: Vec<SocketId>,
        local: Option<IpAddr>,
    ) -> Result<(), ConfigError> {
        self.replace_path(id, |path| (path.sockets, path.local) = (sockets, local))
    }

    /// Sets the remote address of a path, its port being that of the packets in both directions, and a socket on which they arrive. An address that
    /// is learnt may change the IP version of the path's outer packets and so the inner MTU.
    pub(crate) fn set_path_remote(
        &mut self,
        id: PathId,
        socket: SocketId,
        remote: SocketAddr,
    ) -> Result<(), ConfigError> {
        self.replace_path(id, |path| {
            path.remote = path.remote.moved_to(remote);
            if path.remote.is_learnt() {
                path.remote_source_port = Some(remote.port());
            }
            if !path.sockets.contains(&socket) {
                path.sockets.push(socket);
            }
            if path.local.is_some_and(|local| local.is_ipv4() != remote.is_ipv4()) {
                path.local = None;
            }
            path.mtu = path.mtu.max(mtu::minimum(path.outer()));
        })
    }

    /// Forgets the remote address of a path that learns it.
    pub(crate) fn forget_path_remote(&mut self, id: PathId) -> Result<(), ConfigError> {
        self.replace_path(id, |path| {
            if path.remote.is_learnt() {
                (path.remote, path.remote_source_port) = (path.remote.forgotten(), None);
            }
        })
    }

    /// Sets the GRE key of a connection, or that it has none.
    pub(crate) fn set_key(
        &mut self,
        id: ConnectionId,
        key: Option<u32>,
    ) -> Result<(), ConfigError> {
        let connection = self.connection(id).ok_or(ConfigError::Gone)?;
        let before = connection.config.key;
        let mut whole = (*connection.config).clone();
        whole.paths = self.path_configs(connection).cloned().collect();
        whole.key = key;
        whole.check()?;
        let paths: Vec<PathId> = connection.paths().collect();
        self.apply_key(id, &paths, key).map_err(|(other, path)| {
            let error = ConfigError::SameTuple {
                first: self.path_label(other),
                second: self.path_label(path),
            };
            let restored = self.apply_key(id, &paths, before);
            debug_assert_eq!(restored, Ok(()), "it was like that before");
            error
        })
    }

    fn apply_key(
        &mut self,
        id: ConnectionId,
        paths: &[PathId],
        key: Option<u32>,
    ) -> Result<(), (PathId, PathId)> {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.config.key = key;
            connection.refresh(&self.paths);
        }
        paths.iter().for_each(|&path| self.remove_path_from_tables(path));
        paths
            .iter()
            .try_for_each(|&path| self.add_path_to_tables(path).map_err(|other| (other, path)))
    }

    /// Refuses everything that arrives on a connection, or accepts it again. A connection is barred when its peer is
    /// replaced by another one: what comes from its addresses may be from the one before, until the new one has a session.
    pub(crate) fn set_barred(&mut self, id: ConnectionId, barred: bool) {
        if let Some(connection) = self.connection_mut(id) {
            connection.barred = barred;
        }
    }

    /// The connection of this name.
    pub fn find_connection(&self, name: &str) -> Option<ConnectionId> {
        self.by_name.get(name).copied()
    }

    /// The path of this name.
    pub fn find_path(&self, connection: ConnectionId, name: &str) -> Option<PathId> {
        let mut paths = self.connection(connection)?.paths();
        paths.find(|&id| self.path(id).is_some_and(|path| path.name() == name))
    }

    /// Fails if so many connections and paths cannot be added.
    fn check_room(&self, connections: usize, paths: usize) -> Result<(), ConfigError> {
        if self.connections.has_room(connections) && self.paths.has_room(paths) {
            Ok(())
        } else {
            Err(ConfigError::Full)
        }
    }

    /// Puts a connection and its paths in place, but for the look-up tables.
    fn insert(&mut self, now: Instant, config: &ConnectionConfig) -> ConnectionId {
        let id = self.connections.insert(Connection::new(without_paths(config)));
        self.timers.reserve(id.index() as u32);
        self.by_name.insert(config.name.clone(), id);
        for path in &config.paths {
            self.insert_path(now, id, path.clone());
        }
        if let Some(connection) = self.connections.get_mut(id) {
            connection.refresh(&self.paths);
            connection.follow_mapping(now, &self.paths);
            connection.start_reorder(now, &self.paths);
        }
        id
    }

    fn insert_path(&mut self, now: Instant, id: ConnectionId, config: PathConfig) -> PathId {
        let connection = self.connections.get_mut(id).expect("the caller found it");
        let path = Path::new(id, connection.free_slot(), config);
        let path_id = self.paths.insert(path);
        self.transitions.begin(now, path_id);
        if let Some(path) = self.paths.get(path_id) {
            connection.attach(now, path_id, path);
        }
        path_id
    }

    /// Takes a connection out of everything.
    fn take(&mut self, id: ConnectionId) -> Option<Connection<P>> {
        let connection = self.connections.remove(id)?;
        self.by_name.remove(connection.name());
        self.tables.remove(id);
        self.openers.remove_all_of(id);
        for path in connection.paths() {
            self.paths.remove(path);
            self.remove_path_from_tables(path);
        }
        self.timers.clear(id.index() as u32);
        Some(connection)
    }

    /// Makes a connection what `config` says, but for the look-up tables.
    fn change<S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        id: ConnectionId,
        config: &ConnectionConfig,
        sink: &mut S,
    ) {
        let Some(connection) = self.connection_mut(id) else { return };
        if connection.device() != config.device
            && let Some(reorder) = &mut connection.reorder
        {
            reorder.flush(now, &mut ToDevice { device: connection.config.device, sink });
        }
        *connection.config = without_paths(config);
        let old: Vec<PathId> = connection.paths().collect();
        for path_id in old {
            let Some(path) = self.paths.get(path_id) else { continue };
            match config.paths.iter().find(|new| new.name == path.name()) {
                Some(new) => self.change_path(now, path_id, |path| {
                    path.config.replace(new);
                    path.down = path.down.with(DownReason::Administrative, !new.up);
                }),
                None => self.remove_path(now, path_id),
            }
        }
        for new in &config.paths {
            if self.find_path(id, &new.name).is_none() {
                self.insert_path(now, id, new.clone());
            }
        }
        if let Some(connection) = self.connections.get_mut(id) {
            connection.refresh(&self.paths);
            connection.follow_mapping(now, &self.paths);
            connection.refresh_reorder(now, &self.paths, sink);
        }
        self.set_timer(id);
    }

    /// Changes state or weights of a path and passes it on. Sockets, addresses and MTU are left to
    /// the caller.
    pub(in crate::tunnel) fn change_path(
        &mut self,
        now: Instant,
        id: PathId,
        change: impl FnOnce(&mut Path),
    ) {
        let Some(path) = self.paths.get_mut(id) else { return };
        let was = (path.is_heard(), path.config.weight_in);
        let down = path.down;
        change(path);
        if path.down != down {
            self.transitions.note(now, id);
        }
        path.config.up = !path.down.contains(DownReason::Administrative);
        if let Some(connection) = self.connections.get_mut(path.connection) {
            connection.update_path(now, path, was);
        }
        let connection = path.connection;
        self.set_timer(connection);
    }

    pub(in crate::tunnel) fn refresh_paths(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.refresh_paths(&self.paths);
        }
    }

    pub(in crate::tunnel) fn set_timer(&mut self, id: ConnectionId) {
        if let Some(time) = self.connection(id).and_then(Connection::next_timeout) {
            self.timers.set_no_later(id.index() as u32, time);
        }
    }

    fn add_to_tables(&mut self, id: ConnectionId) -> Result<(), Conflict> {
        let connection = self.connections.get(id).expect("the caller found it");
        let paths = connection
            .paths()
            .filter_map(|path_id| Some((path_id, &*self.paths.get(path_id)?.config)));
        self.tables.add(id, &connection.config, paths)
    }

    fn add_path_to_tables(&mut self, id: PathId) -> Result<(), PathId> {
        let Some(path) = self.paths.get(id) else { return Ok(()) };
        let connection = self.connections.get(path.connection);
        let key = connection.and_then(|connection| connection.config.key);
        self.tables.add_path(id, key, &path.config)
    }

    fn remove_path_from_tables(&mut self, id: PathId) {
        let others = self.paths.iter().filter(|&(other, _)| other != id);
        self.tables.remove_path(id, others.map(|(_, path)| &*path.config));
    }

    /// Changes sockets or addresses of a path, or nothing on an error.
    fn replace_path(
        &mut self,
        id: PathId,
        change: impl FnOnce(&mut PathConfig),
    ) -> Result<(), ConfigError> {
        let path = self.paths.get(id).ok_or(ConfigError::Gone)?;
        let connection = path.connection;
        let before = path.config.clone();
        let mut after = before.clone();
        change(&mut after);
        after.check(self.connection_name(connection))?;
        if let Some(path) = self.paths.get_mut(id) {
            path.config = after;
        }
        self.remove_path_from_tables(id);
        let added = self.add_path_to_tables(id).map_err(|other| {
            let error = ConfigError::SameTuple {
                first: self.path_label(other),
                second: self.path_label(id),
            };
            if let Some(path) = self.paths.get_mut(id) {
                path.config = before;
            }
            self.remove_path_from_tables(id);
            let restored = self.add_path_to_tables(id);
            debug_assert_eq!(restored, Ok(()), "it was there before");
            error
        });
        self.refresh_paths(connection);
        added
    }

    fn path_configs<'a>(
        &'a self,
        connection: &'a Connection<P>,
    ) -> impl Iterator<Item = &'a PathConfig> {
        connection.paths().filter_map(|id| Some(&*self.paths.get(id)?.config))
    }

    fn connection_name(&self, id: ConnectionId) -> &str {
        self.connection(id).map_or("", Connection::name)
    }

    fn path_label(&self, id: PathId) -> String {
        let Some(path) = self.path(id) else { return String::new() };
        label(self.connection_name(path.connection), path.name())
    }

    fn explain(&self, conflict: Conflict, config: &ConnectionConfig) -> ConfigError {
        let connection = |id| self.connection_name(id).to_owned();
        conflict.explain(config, connection, |id| self.path_label(id))
    }
}

fn without_paths(config: &ConnectionConfig) -> ConnectionConfig {
    ConnectionConfig { paths: Vec::new(), ..config.clone() }
}
