//! The path that a frame belongs to, and addresses of the peer that are learnt from frames.

use std::time::Instant;

use super::path::{PeerName, SessionPath};
use super::source::Source;
use crate::Tunnels;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::shared::Shared;
use crate::session::engine::{PathEvent, SessionPathId};

impl Session {
    /// The place of the path that a frame names, which may be learnt from where it came.
    pub(crate) fn find_path<P: Copy>(
        &mut self,
        now: Instant,
        ours: bool,
        wire_id: SessionPathId,
        fresh: bool,
        source: Source,
        tunnels: &mut Tunnels<P>,
    ) -> Option<usize> {
        let known = self.paths.named(ours, wire_id);
        let connection = self.link.connection()?;
        if ours || wire_id == 0 {
            return known;
        }
        let completed = self.handshake.completed;
        if let Some(path) = known.and_then(|i| self.paths.get_mut(i)) {
            let before = path.peer_name.replace(PeerName { id: wire_id, bound: completed });
            let is_bound = before.is_some_and(|name| name.bound == completed);
            // A peer that has begun anew may give its names otherwise.
            if is_bound || !fresh || path.is_from(source) {
                return known;
            }
        }
        // A name that the peer uses no longer is none.
        let is_named = |path: &SessionPath| {
            let id = path.peer_id().filter(|_| known.is_none());
            id.is_some_and(|id| self.tables.peer.as_ref().is_none_or(|table| table.may_name(id)))
        };
        let free = |path: &&SessionPath| !is_named(path) && path.listens_on(source.socket);
        let place = |fits: &dyn Fn(&SessionPath) -> bool| {
            self.paths.iter().position(|path| free(&path) && fits(path))
        };
        let found = place(&|path| path.is_from(source))
            .or(known)
            .or_else(|| place(&|path| path.remote().is_none()))
            .or_else(|| place(&|path| is_learnt(path, tunnels)))?;
        if Some(found) != known {
            if let Some(known) = known.and_then(|known| self.paths.get_mut(known)) {
                known.peer_name = None;
            }
            let path = self.paths.get_mut(found)?;
            let name = PeerName { id: wire_id, bound: completed };
            if path.peer_name.replace(name).is_some() && !path.is_suspended() {
                // The peer has removed its path and made another one.
                path.liveness.revive(now);
            }
            self.follow_table(now, found, connection, tunnels);
        }
        Some(found)
    }

    /// The other end of a path has proved that it is at another address now.
    pub(crate) fn move_path<P: Copy>(
        &mut self,
        now: Instant,
        i: usize,
        source: Source,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let Source { socket, remote } = source;
        let Some(path) = self.paths.get_mut(i) else { return };
        let id = path.id;
        path.candidate = None;
        if tunnels.set_path_remote(id, socket, remote).is_err() {
            // Two paths of the peer may have changed places. Then the other path gives up the address.
            let other = self
                .paths
                .iter_mut()
                .find(|path| path.id != id && path.goes_to(remote) && is_learnt(path, tunnels));
            let Some(other) = other else { return };
            let forgotten = tunnels.forget_path_remote(other.id);
            if forgotten.is_err() || tunnels.set_path_remote(id, socket, remote).is_err() {
                return;
            }
            other.lose_remote(now);
        }
        if let Some(path) = self.paths.get_mut(i)
            && let Some(data) = tunnels.path(id)
        {
            path.arrive_at(now, data);
        }
        shared.counters.moves += 1;
        shared.tell(PathEvent::Moved { path: id, socket, remote });
    }
}

/// Returns true if the remote address of a path is learnt from where its frames come.
pub(crate) fn is_learnt<P: Copy>(path: &SessionPath, tunnels: &Tunnels<P>) -> bool {
    tunnels.path(path.id).is_some_and(|path| path.config().remote.is_learnt())
}
