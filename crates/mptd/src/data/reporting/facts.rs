//! Counts by which it is seen that a peer is configured otherwise.

use std::collections::BTreeMap;
use std::iter::Sum;

use crate::data::DataPath;
use crate::data::system::System;

/// Counts of a shard or of the daemon, all since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Control frames that nobody here takes, since no connection has keys.
    pub(crate) control: u64,
    /// Handshakes that were not made for our key, or by no key that is known, or that do not open.
    pub(crate) strange: u64,
    /// The facts about connections, by name.
    pub(crate) connections: BTreeMap<String, ConnectionFacts>,
}

/// Counts of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConnectionFacts {
    /// True if its session is established; `None` without one.
    pub(crate) established: Option<bool>,
    /// Packets received on its paths.
    pub(crate) received: u64,
    /// Packets dropped because they are not sealed, or come from a peer without session.
    pub(crate) plain: u64,
}

/// The facts of the daemon are the sum of those of its shards.
impl Sum for Facts {
    fn sum<I: Iterator<Item = Self>>(shards: I) -> Self {
        shards.fold(Self::default(), |mut sum, shard| {
            sum.control += shard.control;
            sum.strange += shard.strange;
            sum.connections.extend(shard.connections);
            sum
        })
    }
}

impl<S: System> DataPath<S> {
    /// Gives the counts of these connections; with each, whether it is to have a session.
    pub(crate) fn facts(&self, names: &[(String, bool)]) -> Facts {
        let counters = self.node.sessions().counters();
        let of = |(name, has_session): &(String, bool)| {
            let id = self.node.tunnels().find_connection(name)?;
            let connection = self.node.tunnels().connection(id)?;
            let session = self.node.sessions().session_of(id);
            let view = session.and_then(|session| self.node.sessions().session(session));
            let paths = connection.paths().filter_map(|path| self.node.tunnels().path(path));
            let drops = connection.datagram_drops();
            let facts = ConnectionFacts {
                established: has_session.then(|| view.is_some_and(|it| it.established.is_some())),
                received: paths.map(|path| path.received().packets).sum(),
                plain: drops.not_sealed + drops.barred,
            };
            Some((name.clone(), facts))
        };
        Facts {
            control: self.node.tunnels().datagram_drops().control,
            strange: counters.bad_mac + counters.unknown_peer + counters.handshake_failed,
            connections: names.iter().filter_map(of).collect(),
        }
    }
}
