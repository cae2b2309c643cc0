//! Compares the configurations of the two hosts by what arrives and what does not.

use std::time::Instant;

use crate::daemon::{Daemon, Error};

impl Daemon {
    /// Checks whether the peers of connections are configured as these are. It is to be called every second.
    pub(in crate::daemon) async fn look_for_disagreements(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        if !self.disagreements.is_due(now) {
            return Ok(());
        }
        let names: Vec<_> = (self.running.connections.iter())
            .filter(|it| it.compat.is_none())
            .map(|it| (it.name.clone(), it.peer.is_some()))
            .collect();
        let facts = self.shards.split(names, |(name, _)| name, |data, names| data.facts(&names));
        let facts = facts.await?.sum();
        let links = self.network.links();
        let mine = |address| links.has(address);
        let is_exchanged = |path: &mpt_config::Path| {
            path.local.is_some_and(|local| !mine(local)) && path.remote.address().is_some_and(mine)
        };
        let exchanged =
            self.running.connections.iter().filter(|it| it.paths.iter().any(is_exchanged));
        let exchanged = exchanged.map(|it| it.name.clone()).collect();
        for (connection, found) in self.disagreements.look(now, facts, &exchanged) {
            tracing::warn!(connection, "{}", found.sentence());
        }
        Ok(())
    }
}
