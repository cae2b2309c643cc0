//! Commands of the administrator about clients: list, disconnect and revoke.

mod joining;
mod mtus;

use std::collections::BTreeSet;
use std::time::Duration;

use mpt_api::{
    Changed, ClientConnection, Clients, Code, EventKind, Failure, LossReason, PathState,
};
use mpt_config::Config;
use mpt_core::session::SessionId;

use super::{Daemon, Error};
use crate::clients::{Ending, Held, Review};
use crate::data::DataPath;

/// The time after which a client that was refused tries again.
const COMES_BACK_AFTER: Duration = Duration::from_secs(5);

impl Daemon {
    /// Lists the clients of the configuration, each with its connections.
    pub(super) async fn list_clients(&self) -> Result<Clients, Failure> {
        let held: Vec<_> = self.clients.iter().map(|(_, held)| held.connection.clone()).collect();
        let show = |data: &mut DataPath, held: Vec<mpt_config::Connection>| {
            held.iter().filter_map(|it| data.show_connection(it)).collect::<Vec<_>>()
        };
        let shown = self.shards.split(held, |it| &it.name, show).await;
        let shown: Vec<_> = shown.map_err(|error| failed(&error.into()))?.flatten().collect();
        let connection = |held: &Held| {
            let shown = shown.iter().find(|it| it.name == held.connection.name);
            let paths = shown.map_or(&[][..], |it| &it.paths);
            let up = paths.iter().filter(|path| path.state == PathState::Up).count();
            let (hosts, networks) = held.connection.networks.split_at(held.addresses.len());
            ClientConnection {
                name: held.connection.name.clone(),
                addresses: hosts.iter().map(|host| host.addr()).collect(),
                networks: networks.to_vec(),
                created_s: held.since.elapsed().as_secs(),
                paths: u16::try_from(paths.len()).unwrap_or(u16::MAX),
                paths_up: u16::try_from(up).unwrap_or(u16::MAX),
            }
        };
        let of = |client: &mpt_config::Client| mpt_api::Client {
            name: client.name.clone(),
            public_key: client.public_key.to_string(),
            connections: (self.clients.iter())
                .filter(|(_, held)| held.owner == client.public_key)
                .map(|(_, held)| connection(held))
                .collect(),
        };
        Ok(Clients { clients: self.running.clients.iter().map(of).collect() })
    }

    /// Ends everything that a client has now. It may come back.
    pub(super) async fn disconnect_client(&mut self, name: &str) -> Result<Changed, Failure> {
        let client = self.running.clients.iter().find(|client| client.name == name);
        let key = client.map(|client| client.public_key).ok_or_else(|| {
            Failure::new(Code::NotFound, format!("there is no client \"{name}\""))
        })?;
        let held = self.clients.iter().filter(|(_, held)| held.owner == key);
        let held: Vec<SessionId> = held.map(|(session, _)| session).collect();
        // First the goodbyes, while there are the paths on which they leave.
        let sessions = self.shards.each(move |data| data.refuse_sessions_of(key)).await;
        let sessions: usize = sessions.map_err(|error| failed(&error.into()))?.sum();
        let mut changed = Changed::default();
        for session in held {
            let removed = self.remove_connection(session, LossReason::Removed).await;
            let removed = removed.map_err(|error| failed(&error))?;
            let removed = removed.into_iter();
            changed.changes.extend(removed.map(|it| format!("connection {it}: removed")));
        }
        if sessions > 0 {
            let seconds = COMES_BACK_AFTER.as_secs();
            let what = match sessions {
                1 => "1 session".to_owned(),
                more => format!("{more} sessions"),
            };
            changed.changes.push(format!(
                "client {name}: {what} ended; it may come back after {seconds} s, unless [[client]] {name} is removed and the file reloaded"
            ));
        }
        Ok(changed)
    }

    /// Ends the session of a client and removes its connection. The client may ask for it again.
    pub(super) async fn delete_of_client(
        &mut self,
        session: SessionId,
    ) -> Result<Changed, Failure> {
        let shard = self.shards.of_session(session);
        let refused = shard.call(move |data| data.refuse_session(session)).await;
        refused.map_err(|error| failed(&error.into()))?;
        let removed = self.remove_connection(session, LossReason::Removed).await;
        let removed = removed.map_err(|error| failed(&error))?;
        let change = |name: String| {
            let seconds = COMES_BACK_AFTER.as_secs();
            format!("connection {name}: removed; its client may ask for it again after {seconds} s")
        };
        Ok(Changed { changes: removed.into_iter().map(change).collect(), ..Changed::default() })
    }

    /// Ends the sessions of connections that cannot go on under another configuration.
    pub(super) async fn refuse_ended(&self, review: &Review) -> Result<(), Error> {
        let ended: Vec<SessionId> = review.ended.iter().map(|(session, ..)| *session).collect();
        // A shard passes over the sessions of others.
        self.shards
            .each(move |data| ended.into_iter().for_each(|session| data.refuse_session(session)))
            .await?;
        Ok(())
    }

    /// Takes over what a reviewed configuration leaves of what clients hold, and tells what has ended.
    pub(super) fn adopt(&mut self, review: Review) {
        self.clients = review.clients;
        for (session, held, ending) in review.ended {
            let (client, connection) = (held.name.client, held.connection.name);
            if let Some(opened) = self.sessions.opened.get_mut(&session) {
                opened.connection = Some(connection.clone());
            }
            let (reason, why) = match ending {
                Ending::Revoked => (LossReason::Removed, "its client is revoked".to_owned()),
                Ending::Policy(why) => (LossReason::Policy, why),
            };
            tracing::info!(client, connection, why, "connection of a client removed");
            self.tell(EventKind::ClientRemoved { client, connection, reason });
        }
    }

    /// Connections that run, or ran until a reload before, with a `[connection.peer]` that `file` does not give them any more. To take
    /// the peer away is to revoke it: the connection does not become one that anybody may use who knows its addresses.
    pub(super) fn without_their_peers(&self, file: &Config) -> BTreeSet<String> {
        let had_one = |name: &str| {
            let running = self.running.connection(name);
            running.is_some_and(|it| it.peer.is_some()) || self.unguarded.contains(name)
        };
        let lost = file.connections.iter().filter(|it| it.peer.is_none() && it.compat.is_none());
        lost.filter(|it| had_one(&it.name)).map(|it| it.name.clone()).collect()
    }

    /// Returns what to tell of connections that are off because they have lost their peer.
    pub(super) fn warnings_of_unguarded(&self) -> Vec<String> {
        let warning = |name: &String| {
            format!(
                "connection {name}: off, because its [connection.peer] was removed: without it, whoever knows the addresses could use the \
                 tunnel; remove the [[connection]], or restart mptd to run it without a session"
            )
        };
        self.unguarded.iter().map(warning).collect()
    }
}

fn failed(error: &Error) -> Failure {
    Failure::new(Code::Failed, error.to_string())
}
