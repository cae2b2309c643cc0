//! Bounds the lines of the log that others provoke, and sums up what was left out.

use std::time::{Duration, Instant};

use mpt_core::session::PublicKey;

use super::provoked::Subject;
use crate::daemon::{Daemon, Error};

/// The interval at which the log says how much was left out and refused.
const SUMMARY: Duration = Duration::from_secs(60);

impl Daemon {
    /// Counts a line about a connection: for its peer, or where that has no key, for the connection. Returns whether the line is to be written.
    pub(in crate::daemon) fn may_log_of(&mut self, connection: &str) -> bool {
        let configured = self.running.connection(connection);
        let peer = match configured {
            Some(config) => config.peer.as_ref().map(|it| it.public_key),
            None => {
                let session = self.clients.find_shown(connection);
                session.and_then(|it| self.clients.get(it)).map(|held| held.owner)
            }
        };
        self.provoked.line_about(match peer {
            Some(peer) => Subject::Peer(peer),
            None if configured.is_some() => Subject::Connection(connection.to_owned()),
            // It was removed meanwhile, and says no more than that.
            None => return true,
        })
    }

    /// Logs what was left out and refused in the last minute. To be called every second or so.
    pub(in crate::daemon) async fn sum_up(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        let since = *self.provoked.summed_up.get_or_insert(now);
        if now < since + SUMMARY {
            return Ok(());
        }
        self.provoked.summed_up = Some(now);
        self.sum_up_now().await
    }

    /// Logs what was left out and refused since the last summary.
    pub(in crate::daemon) async fn sum_up_now(&mut self) -> Result<(), Error> {
        let refused = self.shards.each(|data| data.take_refused()).await?;
        for (peer, count) in refused.flatten() {
            self.provoked.accounts.entry(Subject::Peer(peer)).or_default().refused += count;
        }
        for (subject, account) in std::mem::take(&mut self.provoked.accounts) {
            let Some(summary) = account.summary() else { continue };
            let subject = match subject {
                Subject::Peer(peer) => self.describe_peer(&peer),
                Subject::Connection(name) => format!("connection {name}"),
            };
            tracing::warn!("{subject}: {summary} in the last minute");
        }
        Ok(())
    }

    /// A peer as the configuration names it.
    fn describe_peer(&self, peer: &PublicKey) -> String {
        let config = &self.running;
        if let Some(client) = config.clients.iter().find(|it| it.public_key == *peer) {
            return format!("client {}", client.name);
        }
        if let Some(controller) = config.controllers.iter().find(|it| it.public_key == *peer) {
            return format!("controller {}", controller.name);
        }
        let is = |it: &&mpt_config::Connection| {
            it.peer.as_ref().is_some_and(|known| known.public_key == *peer)
        };
        match config.connections.iter().find(is) {
            Some(connection) => format!("peer of connection {}", connection.name),
            None => format!("peer {peer}"),
        }
    }
}
