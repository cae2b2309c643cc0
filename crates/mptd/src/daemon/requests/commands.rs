//! Answers to the control socket.

use std::collections::HashMap;
use std::sync::Arc;

use mpt_api::snapshot as api;
use mpt_api::{Code, Failure, PathChange, Snapshot};
use mpt_config as config;

use super::part::Part;
use crate::daemon::Daemon;
use crate::data::{ChangeError, DataPath, Ended};

impl Daemon {
    /// Everything as it stands now, or only one connection and its device.
    pub(in crate::daemon) async fn show(&self, only: Option<&str>) -> Result<Snapshot, Failure> {
        let mut config = self.running.clone();
        config.connections.extend(self.clients.iter().map(|(_, held)| held.connection.clone()));
        let shown = |it: &config::Connection| only.is_none_or(|name| it.name == name);
        let connections: Vec<_> =
            config.connections.iter().filter(|it| shown(it)).cloned().collect();
        if let Some(name) = only
            && connections.is_empty()
        {
            let error = ChangeError::NoConnection(name.to_owned());
            return Err(Failure::new(Code::NotFound, error.to_string()));
        }
        let devices: Vec<_> = config
            .devices
            .iter()
            .filter(|it| only.is_none() || connections.iter().any(|of| of.device == it.name))
            .cloned()
            .collect();
        let key = self.running.daemon.private_key.as_ref();
        let mut snapshot = Snapshot {
            daemon: api::Daemon {
                program: env!("CARGO_PKG_VERSION").into(),
                pid: std::process::id(),
                uptime_s: self.started.elapsed().as_secs(),
                time_ms: mpt_api::now_ms(),
                buffer_bytes: 0,
                buffer_limit: 0,
                drops: api::Counters::new(),
                public_key: key.map(|key| key.public().to_string()),
                control: api::Counters::new(),
            },
            devices: Vec::new(),
            connections: Vec::new(),
        };
        let config = Arc::new(config);
        let show = move |data: &mut DataPath, connections: Vec<config::Connection>| {
            Part::of(data, &config, &devices, &connections)
        };
        let parts = self.shards.split(connections, |it| &it.name, show).await.map_err(ended)?;
        parts.for_each(|part| part.add_to(&mut snapshot));
        self.show_addresses(&mut snapshot);
        let held: HashMap<&str, &str> = self
            .clients
            .iter()
            .map(|(_, held)| (held.connection.name.as_str(), held.name.client.as_str()))
            .collect();
        for connection in &mut snapshot.connections {
            connection.disagreement = self.disagreements.of(&connection.name);
            let config = self.running.connection(&connection.name);
            for path in &mut connection.paths {
                let config = config.and_then(|config| config.path(&path.name));
                path.cap = config.and_then(|config| self.caps.show(&connection.name, config));
            }
            let Some(session) = &mut connection.session else { continue };
            session.client = held.get(connection.name.as_str()).map(|&client| client.to_owned());
            if self.is_refused(&connection.name) {
                session.state = api::SessionState::Refused;
            }
        }
        Ok(snapshot)
    }

    /// Puts the addresses of the interfaces into paths that name no address of their own; their sockets are bound to none.
    fn show_addresses(&self, snapshot: &mut Snapshot) {
        let links = self.network.links();
        for connection in &mut snapshot.connections {
            let Some(config) = self.running.connection(&connection.name) else { continue };
            for path in &mut connection.paths {
                let Some(config) = config.path(&path.name).filter(|it| it.local.is_none()) else {
                    continue;
                };
                let address = links.address(config);
                path.local = address.map(|address| (address, config.local_port).into());
            }
        }
    }

    /// Changes one path by hand.
    pub(in crate::daemon) async fn set_path(
        &mut self,
        connection: &str,
        path: &str,
        change: PathChange,
    ) -> Result<(), Failure> {
        let names = (connection.to_owned(), path.to_owned());
        let shard = self.shards.of(connection);
        let done = shard.call(move |data| data.change_path(&names.0, &names.1, &change)).await;
        done.map_err(ended)?.map_err(|error| {
            let code = match error {
                ChangeError::NoConnection(_) | ChangeError::NoPath { .. } => Code::NotFound,
                ChangeError::Config(_) | ChangeError::Rates { .. } => Code::BadRequest,
                _ => Code::Failed,
            };
            Failure::new(code, error.to_string())
        })?;
        let config = self
            .running
            .connections
            .iter_mut()
            .filter(|it| it.name == connection)
            .flat_map(|it| &mut it.paths)
            .find(|it| it.name == path);
        if let Some(config) = config {
            config.weight = change.weight.map_or(config.weight, u16::from);
            config.weight_in = change.weight_in.map_or(config.weight_in, u16::from);
            let bound = |change: Option<u64>, before| {
                change.map_or(before, |rate| (rate > 0).then_some(rate))
            };
            config.max_rate = bound(change.max_rate, config.max_rate);
            config.min_rate = bound(change.min_rate, config.min_rate);
            config.tier = change.tier.unwrap_or(config.tier);
            config.up = change.up.unwrap_or(config.up);
        }
        self.tell_paths(vec![(connection.to_owned(), path.to_owned())]).await;
        self.follow_fallback().await;
        Ok(())
    }

    /// Tells monitors how paths are now, where that is new to them.
    pub(in crate::daemon) async fn tell_paths(&self, paths: Vec<(String, String)>) {
        let take = |data: &mut DataPath, paths: Vec<(String, String)>| {
            let event =
                |(connection, path): &(String, String)| data.take_path_event(connection, path);
            paths.iter().filter_map(event).collect::<Vec<_>>()
        };
        // It is told elsewhere when the data thread has ended.
        let Ok(events) = self.shards.split(paths, |(connection, _)| connection, take).await else {
            return;
        };
        events.flatten().for_each(|event| self.tell(event));
    }
}

fn ended(error: Ended) -> Failure {
    Failure::new(Code::Failed, error.to_string())
}
