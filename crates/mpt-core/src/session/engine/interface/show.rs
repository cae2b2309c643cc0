//! Sessions as they are shown.

use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::paths::path::SessionPath;
use crate::session::engine::{PathView, SessionCounters, SessionId, SessionView, Sessions};
use crate::{ConnectionId, PathId};

impl Sessions {
    /// Returns what became of the frames.
    #[must_use]
    pub fn counters(&self) -> &SessionCounters {
        &self.shared.counters
    }

    /// All sessions.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.sessions.iter().flatten().map(|session| session.id)
    }

    /// Returns the session of a connection.
    #[must_use]
    pub fn session_of(&self, connection: ConnectionId) -> Option<SessionId> {
        self.by_connection.get(&connection).map(|&slot| self.id(slot))
    }

    /// A session as it is now.
    #[must_use]
    pub fn session(&self, id: SessionId) -> Option<SessionView> {
        Some(self.show(id)?.view())
    }

    /// A path of a session as it is now.
    #[must_use]
    pub fn path(&self, id: SessionId, path: PathId) -> Option<PathView> {
        let session = self.show(id)?;
        session.paths.of(path).map(|path| session.path_view(path))
    }

    fn show(&self, id: SessionId) -> Option<&Session> {
        self.sessions.get(self.slot(id)? as usize)?.as_deref()
    }
}

impl Session {
    fn view(&self) -> SessionView {
        let current = self.keys.current.as_ref();
        SessionView {
            id: self.id,
            name: self.identity.name.clone(),
            kind: self.identity.kind,
            peer: self.identity.peer,
            dynamic: self.origin.is_peer(),
            established: self.handshake.established,
            keys_since: current.map(|keys| keys.since),
            initiator: current.is_some_and(|keys| keys.is_initiator()),
            seal: self.seal_state(),
            handshakes: self.handshake.completed,
            connection: self.link.connection(),
            open: self.origin.is_open(),
            announced: self.tables.is_known(),
            active: self.traffic.is_active(),
            remote: self.link.anchor().map(|anchor| anchor.remote()),
            paths: self.paths.iter().map(|path| self.path_view(path)).collect(),
        }
    }

    fn path_view(&self, path: &SessionPath) -> PathView {
        let liveness = &path.liveness;
        let (sent, received) = path.peer_traffic;
        PathView {
            path: path.id,
            id: self.keys.current.as_ref().and_then(|keys| path.wire_id(keys)),
            state: liveness.state(),
            since: liveness.since(),
            silent: liveness.is_silent(),
            suspended: path.is_suspended(),
            hears_us: path.is_up(),
            we_hear: !liveness.is_silent(),
            rtt: liveness.rtt().smoothed(),
            rtt_variation: liveness.rtt().variation(),
            rtt_minimum: liveness.rtt().minimum(),
            dead_after: liveness.dead_after(),
            flaps: liveness.flaps(),
            mtu_phase: path.discovery.phase(),
            mtu_confirmed: path.discovery.is_confirmed(),
            remote: path.remote(),
            peer_state: path.peer.map(|entry| entry.state),
            peer_weight: path.peer.map(|entry| entry.weight),
            peer_sent: sent,
            peer_received: received,
            frames: path.received.frames,
            frame_bytes: path.received.bytes,
        }
    }
}
