//! Requests of peers that were refused: a line per peer and minute in the log, however many there are.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mpt_core::control::PublicKey;

use super::{Daemon, Error};

/// How often the log says how many requests were refused.
const SUMMARY: Duration = Duration::from_secs(60);

/// What the daemon remembers of refusals: no more than one entry for each key of the configuration.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// When the last summary was made.
    summed_up: Option<Instant>,
    /// Requests that the policy refused since then, by peer.
    denied: BTreeMap<PublicKey, u64>,
}

impl Refusals {
    /// Counts a request that the policy refuses. Returns whether it is the first of this peer since the last summary, and so worth a line of
    /// its own.
    pub(super) fn deny(&mut self, peer: PublicKey) -> bool {
        let denied = self.denied.entry(peer).or_default();
        *denied += 1;
        *denied == 1
    }
}

impl Daemon {
    /// Logs what was refused in the last minute. To be called every second or so.
    pub(super) async fn sum_up_refusals(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        let since = *self.refusals.summed_up.get_or_insert(now);
        if now < since + SUMMARY {
            return Ok(());
        }
        self.refusals.summed_up = Some(now);
        let mut refused = std::mem::take(&mut self.refusals.denied);
        // The first one had a line.
        refused.values_mut().for_each(|count| *count -= 1);
        for (peer, count) in self.data.call(|data| data.take_refused()).await? {
            *refused.entry(peer).or_default() += count;
        }
        for (peer, count) in refused.into_iter().filter(|(_, count)| *count > 0) {
            let requests = if count == 1 { "request" } else { "requests" };
            tracing::warn!(
                "{}: {count} {requests} refused in the last minute",
                self.describe_peer(&peer)
            );
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
        let is = |it: &&crate::config::Connection| {
            it.peer.as_ref().is_some_and(|known| known.public_key == *peer)
        };
        match config.connections.iter().find(is) {
            Some(connection) => format!("peer of connection {}", connection.name),
            None => format!("peer {peer}"),
        }
    }
}
