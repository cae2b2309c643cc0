//! Putting a configuration into effect: all of it, or nothing.

use mpt_api::{Code, EventKind, Failure, Reloaded};
use mpt_config::{self as config, Config, Plan, diff};

use super::runtime::keep_changes_by_hand;
use crate::daemon::names::fill_in;
use crate::daemon::network::Changes;
use crate::daemon::network::links::Links;
use crate::daemon::sessions::{self, with_networks};
use crate::daemon::{Daemon, Error, open_devices};
use crate::data::{ChangeError, DataPath, Ended, LinkFacts, PathLink, Wanted};

impl Daemon {
    /// Reads the file again and applies the difference. A bad file, or one that the system refuses, changes nothing.
    pub(in crate::daemon) async fn reload(&mut self) -> Result<Reloaded, Failure> {
        let checked = config::load(&self.file).map_err(|errors| {
            let count = errors.0.len();
            errors.0.iter().for_each(|error| tracing::error!("{error}"));
            tracing::error!(errors = count, "not reloaded, nothing was changed");
            Failure::new(Code::Config, errors.to_string())
        })?;
        let plan = self.apply(checked.config).await.map_err(|error| {
            tracing::error!(%error, "not reloaded, nothing was changed");
            Failure::new(Code::Failed, error.to_string())
        })?;
        let mut result = Reloaded {
            changes: plan.changes.iter().map(ToString::to_string).collect(),
            restart: plan.restart.clone(),
            warnings: checked.warnings.iter().map(ToString::to_string).collect(),
        };
        result.warnings.extend(self.warnings_of_unguarded());
        result.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        for change in &plan.changes {
            self.tell_change(change);
        }
        for key in &plan.restart {
            tracing::warn!("{key} changed, and takes effect when mptd is started again");
        }
        tracing::info!(
            changes = plan.changes.len(),
            restart = plan.restart.len(),
            warnings = result.warnings.len(),
            "configuration reloaded"
        );
        self.tell(EventKind::Reloaded {
            changes: u32::try_from(result.changes.len()).unwrap_or(u32::MAX),
        });
        Ok(result)
    }

    /// Goes from the present configuration to `file`, keeping what was changed by hand unless the file changes that very value. Gives
    /// what was changed in what runs.
    pub(in crate::daemon) async fn apply(&mut self, file: Config) -> Result<Plan, Error> {
        let mut next = keep_changes_by_hand(&self.loaded, &self.running, &file);
        let unguarded = self.without_their_peers(&file);
        next.connections.retain(|it| !unguarded.contains(&it.name));
        let plan = diff(&self.running, &next);
        self.put_into_effect(next).await?;
        self.unguarded = unguarded;
        let log = |config: &Config| (config.daemon.log, config.daemon.log_format);
        if log(&file) != log(&self.loaded) {
            (self.set_log)(&file.daemon);
        }
        self.loaded = file;
        Ok(plan)
    }

    /// Goes from the running configuration to `next`, or stays with it on an error.
    pub(in crate::daemon) async fn put_into_effect(&mut self, next: Config) -> Result<(), Error> {
        if let Err(error) = self.install(&next).await {
            if !self.system.is_settled() {
                // The daemon ends, and a block that it found stays.
                return Err(error);
            }
            let before = self.running.clone();
            if let Err(again) = self.install(&before).await {
                tracing::error!(error = %again, "could not go back to the configuration before");
            }
            self.close_devices(&before).await?;
            return Err(error);
        }
        self.close_devices(&next).await?;
        self.system.settle().await?;
        self.running = next;
        self.tell_removed_sessions();
        self.follow_fallback().await;
        self.follow_client_mtus().await;
        Ok(())
    }

    /// Devices, connections, addresses and routes as `next` says; devices it no longer has stay open.
    ///
    /// Each shard takes its connections as one atomic change. Several shards do not change together: when one refuses, others may have changed.
    async fn install(&mut self, next: &Config) -> Result<(), Error> {
        for device in open_devices(&self.driver, &self.present, next)? {
            let name = device.name().to_owned();
            self.shards.of_device(&name).call(|data| data.add_device(device)).await??;
            let config = next.devices.iter().find(|device| device.name == name);
            self.present.devices.extend(config.cloned());
        }
        let mut links = self.network.links();
        links.ask_routes(self.system.netlink(), next).await;
        if let Some(mark) = self.system.mark(next).await? {
            let set = self.shards.each(move |data| data.set_mark(Some(mark))).await?;
            set.collect::<Result<(), _>>()?;
        }
        let review = self.clients.review(next);
        let routed = with_networks(&review.clients, next);
        // The system first: what it refuses has then touched no connection, whose sequence numbers and ports could not be had back.
        self.system.apply(&routed, &links).await?;
        // From here on nobody is a peer who is none in `next`.
        self.set_peers(next).await?;
        self.refuse_ended(&review).await?;
        self.network.know(next, &links);
        // The links may have changed since the review.
        let mut wanted = wanted(next, &self.network.links());
        let of_clients = review.clients.iter();
        wanted.extend(of_clients.map(|(session, held)| sessions::wanted(session, held)));
        let set = |data: &mut DataPath, wanted: Vec<Wanted>| data.set_connections(&wanted);
        let set = self.shards.split(wanted, |it| &it.config.name, set).await?;
        set.collect::<Result<(), _>>()?;
        self.sessions.routed = routed.connections.len() - next.connections.len();
        self.adopt(review);
        self.set_device_mtus(next).await
    }

    /// Returns the largest inner packet of a device, as [`DataPath::inner_mtu`] does.
    pub(in crate::daemon) async fn inner_mtu(&self, device: &str) -> Result<Option<u16>, Ended> {
        let name = device.to_owned();
        self.shards.of_device(device).call(move |data| data.inner_mtu(&name)).await
    }

    async fn set_device_mtus(&mut self, config: &Config) -> Result<(), Error> {
        for device in &config.devices {
            let inner = self.inner_mtu(&device.name).await?;
            if let Some(mtu) = config.device_mtu(device, inner) {
                self.system.set_mtu(&device.name, mtu).await?;
            }
        }
        Ok(())
    }

    /// Closes devices that `config` does not have.
    async fn close_devices(&mut self, config: &Config) -> Result<(), Error> {
        let gone: Vec<String> = self
            .present
            .devices
            .iter()
            .filter(|device| config.device(&device.name).is_none())
            .map(|device| device.name.clone())
            .collect();
        for name in gone {
            self.present.devices.retain(|device| device.name != name);
            let shard = self.shards.of_device(&name);
            shard.call(move |data| data.remove_device(&name)).await??;
        }
        Ok(())
    }

    /// The network changed: paths whose interface came or went change with it, and the routing of outer packets follows.
    pub(in crate::daemon) async fn network_changed(&mut self, changes: Changes) {
        if !changes.other {
            // Mostly removed by ourselves.
            if self.system.misses(&changes.removals) {
                self.system.put_back().await;
            }
            return;
        }
        for interface in changes.appeared {
            match self.shards.each(move |data| data.reopen_sockets(&interface)).await {
                Ok(results) => results.for_each(|result| log(result.map_err(Error::from))),
                Err(error) => log(Err(error.into())),
            }
        }
        let mut links = self.network.links();
        links.ask_routes(self.system.netlink(), &self.running).await;
        self.network.know(&self.running, &links);
        // The links may have changed meanwhile: a path whose link was lost is down already.
        let links = self.network.links();
        let facts = links.path_links(&self.running);
        let update = |data: &mut DataPath, facts: Vec<PathLink>| data.update_links(&facts);
        match self.shards.split(facts, |it| &it.connection, update).await {
            Ok(changed) => self.tell_paths(changed.flatten().collect()).await,
            Err(error) => log(Err(error.into())),
        }
        let config = self.running.clone();
        self.system.refresh(&config, &links).await;
        self.follow_fallback().await;
        log(self.set_device_mtus(&config).await);
        self.follow_client_mtus().await;
    }

    /// Says what was changed, in the log and to monitors.
    pub(in crate::daemon) fn tell_change(&self, change: &config::Change) {
        use config::Change;
        let (connection, path) = change.place();
        tracing::info!(connection, path, "{change}");
        let name = |connection: &String| connection.clone();
        self.tell(match change {
            Change::AddConnection(connection) => {
                EventKind::ConnectionAdded { connection: name(&connection.name) }
            }
            Change::RemoveConnection { connection, .. } => {
                EventKind::ConnectionRemoved { connection: name(connection) }
            }
            Change::AddPath { connection, path } => {
                EventKind::PathAdded { connection: name(connection), path: name(&path.name) }
            }
            Change::RemovePath { connection, path, .. } => {
                EventKind::PathRemoved { connection: name(connection), path: name(path) }
            }
            _ => return,
        });
    }
}

fn wanted(config: &Config, links: &Links) -> Vec<Wanted> {
    let facts = |connection: &config::Connection| -> Vec<LinkFacts> {
        connection.paths.iter().map(|path| links.facts(path)).collect()
    };
    let filled = fill_in(config).connections;
    let both = filled.into_iter().zip(&config.connections);
    both.map(|(filled, it)| Wanted { config: filled, links: facts(it), client: None }).collect()
}

fn log(result: Result<(), Error>) {
    match result {
        Ok(()) => {}
        Err(Error::Change(error @ ChangeError::NoDevice(_))) => {
            tracing::debug!(%error, "network change");
        }
        Err(error) => tracing::warn!(%error, "network change not followed"),
    }
}
