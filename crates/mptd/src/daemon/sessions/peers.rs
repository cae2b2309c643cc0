//! Peers that may open sessions, as the configuration says.

use std::collections::BTreeMap;
use std::time::Duration;

use mpt_config::{self as config, Config};
use mpt_core::session::{Limits, Peer, PublicKey, SessionId};
use mpt_wire::control::Kind;

use crate::daemon::{Daemon, Error};

/// The most sessions that a peer may open besides those of its connections: for controllers, and for requests that are refused with a reason.
const SPARE_SESSIONS: usize = 16;

impl Daemon {
    /// Gives all shards the peers that may open sessions, how many each may open, and the addresses on which they are expected.
    pub(in crate::daemon) async fn set_peers(&mut self, config: &Config) -> Result<(), Error> {
        let (peers, limits) = (peers(config), limits(config));
        let key = config.daemon.private_key.clone();
        let (listen, port) = (config.daemon.listen.clone(), config.daemon.port);
        let set = self.shards.each(move |data| {
            data.set_identity(key, peers, limits);
            data.set_listeners(&listen, port)
        });
        Ok(set.await?.collect::<Result<(), _>>()?)
    }

    /// Name of the `[[client]]` or `[[controller]]` with this key.
    pub(in crate::daemon) fn peer_name(&self, kind: Kind, key: &PublicKey) -> Option<String> {
        let config = &self.running;
        match kind {
            Kind::Steering => {
                let found = config.controllers.iter().find(|it| it.public_key == *key);
                found.map(|it| it.name.clone())
            }
            Kind::Joining | Kind::Connection => {
                config.clients.iter().find(|it| it.public_key == *key).map(|it| it.name.clone())
            }
        }
    }

    /// The controller that holds a session.
    pub(in crate::daemon) fn controller(&self, session: SessionId) -> Option<&config::Controller> {
        let key = self.sessions.opened.get(&session)?.peer;
        self.running.controllers.iter().find(|it| it.public_key == key)
    }
}

/// Returns the peers that may open sessions.
fn peers(config: &Config) -> Vec<Peer> {
    let mut peers: BTreeMap<PublicKey, Peer> = BTreeMap::new();
    for client in &config.clients {
        peers.insert(
            client.public_key,
            Peer {
                public_key: client.public_key,
                psk: client.psk.clone(),
                may_connect: true,
                may_steer: false,
                timing: crate::convert::timing(&client.timing),
                largest_wish: client.max_weight,
                seal: crate::convert::seal(client.seal),
                expire_after: client.silent,
                max_sessions: usize::from(client.max_connections) + SPARE_SESSIONS,
            },
        );
    }
    for controller in &config.controllers {
        let peer = peers.entry(controller.public_key).or_insert_with(|| Peer {
            public_key: controller.public_key,
            psk: controller.psk.clone(),
            may_connect: false,
            may_steer: false,
            timing: crate::convert::timing(&config::Timing::default()),
            largest_wish: 0,
            seal: mpt_core::Seal::Off,
            // It has no connection.
            expire_after: Duration::MAX,
            max_sessions: SPARE_SESSIONS,
        });
        peer.may_steer = true;
    }
    peers.into_values().collect()
}

/// Returns what all peers together may open: as many as have connections, and some for what is refused or replaced; and what all
/// sessions may tell their peers.
fn limits(config: &Config) -> Limits {
    let spare = SPARE_SESSIONS * (config.clients.len() + config.controllers.len());
    let sessions = config.connections.len() + config.daemon.max_clients as usize + spare;
    let frames_between_probes = config.daemon.reports_per_second;
    Limits { sessions, frames_between_probes, ..Limits::default() }
}
