//! Connections of clients: they come and go one at a time, without a look at the thousands of others.

use std::collections::HashMap;

use mpt_core::session::{PublicKey, SessionId, SessionView};
use mpt_core::{ConfigError, ConnectionId, DownReason, PathConfig, PathId};
use mpt_wire::control::{Kind, Reason};

use super::changes::Plugged;
use crate::data::system::System;
use crate::data::{ChangeError, DataPath, Wanted};

/// The largest inner packets that fit a connection, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InnerMtus {
    pub(crate) ipv4: u16,
    /// `None` where no path carries IPv6.
    pub(crate) ipv6: Option<u16>,
}

impl<S: System> DataPath<S> {
    /// Adds the connection of a client, in place of one of the same name. On an error the one before is gone as well: its client has
    /// started anew and no longer uses it.
    pub(crate) fn add_client(&mut self, wanted: &Wanted) -> Result<(), ChangeError> {
        let now = self.system.now();
        self.remove_client(&wanted.config.name);
        let mut plugged = Vec::new();
        let config = self.plug(std::slice::from_ref(wanted), &mut plugged);
        let added = config.and_then(|mut config| {
            let config = config.pop().ok_or(ChangeError::Config(ConfigError::Gone))?;
            Ok(self.node.add_connection(now, config)?)
        });
        let id = match added {
            Ok(id) => id,
            Err(error) => {
                plugged.iter().filter_map(Plugged::opened).for_each(|io| self.unplug(io));
                return Err(error);
            }
        };
        for (path, io) in self.paths_of(id).into_iter().zip(plugged) {
            if let Plugged::Opened(io) = io {
                self.paths.insert(path, *io);
            }
        }
        self.follow_connection(now, wanted);
        Ok(())
    }

    /// Takes over what has changed in a client's connection: its paths. Those that stay are not touched.
    pub(crate) fn change_client(&mut self, wanted: &Wanted) -> Result<(), ChangeError> {
        let now = self.system.now();
        let name = &wanted.config.name;
        let missing = || ChangeError::NoConnection(name.clone());
        let id = self.node.tunnels().find_connection(name).ok_or_else(missing)?;
        let mut plugged = Vec::new();
        let config = self.plug(std::slice::from_ref(wanted), &mut plugged)?.pop();
        let config = config.ok_or_else(missing)?;
        for path in self.paths_of(id) {
            let name = self.node.tunnels().path(path).map(|it| it.name().to_owned());
            if name.is_some_and(|name| config.paths.iter().all(|path| path.name != name)) {
                self.node.remove_path(now, path);
                self.displace(path);
            }
        }
        let mut result = Ok(());
        for (path, io) in config.paths.into_iter().zip(plugged) {
            match io {
                Plugged::Kept(id) => {
                    let (out, weight_in, tier) = (path.weight_out, path.weight_in, path.tier);
                    result = result.and(self.node.set_weights(now, id, out, weight_in));
                    result = result.and(self.node.set_rates(now, id, path.rates));
                    self.node.set_tier(now, id, tier);
                }
                Plugged::Opened(io) => match self.node.add_path(now, id, path) {
                    Ok(path) => self.paths.insert(path, *io),
                    Err(error) => {
                        self.unplug(&io);
                        result = result.and(Err(error));
                    }
                },
            }
        }
        self.follow_connection(now, wanted);
        Ok(result?)
    }

    /// Puts what the peer has wished since, and what was changed by hand, into the configuration of a path of a client's connection that
    /// goes on.
    pub(super) fn keep_wishes(&self, id: PathId, config: &mut PathConfig, max_weight: u16) {
        let Some(path) = self.node.tunnels().path(id) else { return };
        let now = path.config();
        config.weight_out = now.weight_out.min(max_weight);
        config.weight_in = now.weight_in.min(max_weight);
        config.rates = now.rates;
        config.tier = now.tier;
        config.up = !path.down_reasons().contains(DownReason::Administrative);
    }

    /// Removes the connection of a client, if there is one of this name; its session stays.
    pub(crate) fn remove_client(&mut self, name: &str) {
        let now = self.system.now();
        let Some(id) = self.node.tunnels().find_connection(name) else { return };
        let paths = self.paths_of(id);
        let node = &mut self.node;
        self.ingress.deliver(&mut self.devices, |sink| node.remove_connection(now, id, sink));
        self.ingress.shares_mut().forget(id);
        self.free_queues();
        paths.into_iter().for_each(|path| self.displace(path));
    }

    /// Forgets a session that its peer opened, after a Goodbye.
    pub(crate) fn remove_session(&mut self, session: SessionId) {
        self.node.close_session(self.system.now(), session, Reason::CONNECTION_REMOVED);
        self.settle();
    }

    /// Refuses to go on with a session that its peer opened: sends a Goodbye on its paths and tells that it is over.
    pub(crate) fn refuse_session(&mut self, session: SessionId) {
        self.node.refuse_session(self.system.now(), session);
        // Before a later call takes its paths away.
        self.settle();
    }

    /// Refuses to go on with all sessions that a client has opened for connections, be there a connection or not. Returns how many there were.
    pub(crate) fn refuse_sessions_of(&mut self, peer: PublicKey) -> usize {
        let now = self.system.now();
        let all = self.node.sessions();
        let view = |id| all.session(id);
        let is_its =
            |view: &SessionView| view.peer == peer && view.dynamic && view.kind == Kind::Connection;
        let sessions: Vec<_> = all.sessions().filter_map(view).filter(is_its).collect();
        for view in &sessions {
            self.node.refuse_session(now, view.id);
        }
        self.settle();
        sessions.len()
    }

    /// The largest inner packets that fit connections, by their names. Those that are gone are left out.
    pub(crate) fn inner_mtus(&self, names: Vec<String>) -> HashMap<String, InnerMtus> {
        let tunnels = self.node.tunnels();
        let mtus = |name: String| {
            let connection = tunnels.connection(tunnels.find_connection(&name)?)?;
            let (ipv4, ipv6) = (connection.inner_mtu(), connection.inner_mtu_ipv6());
            Some((name, InnerMtus { ipv4, ipv6 }))
        };
        names.into_iter().filter_map(mtus).collect()
    }

    pub(super) fn paths_of(&self, connection: ConnectionId) -> Vec<PathId> {
        self.node.tunnels().connection(connection).into_iter().flat_map(|it| it.paths()).collect()
    }

    /// Closes what a path had that is gone.
    fn displace(&mut self, path: PathId) {
        if let Some(io) = self.paths.remove(path) {
            self.unplug(&io);
        }
    }
}
