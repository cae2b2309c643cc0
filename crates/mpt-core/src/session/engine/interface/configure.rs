//! The sessions of the configuration, and the connection and the paths that a session has.

use std::time::Instant;

use crate::session::MAX_PATHS;
use crate::session::engine::lifecycle::origin::Origin;
use crate::session::engine::lifecycle::session::{
    Beginning, Identity, Session, Terms, WITHOUT_PATH,
};
use crate::session::engine::paths::anchor::Anchor;
use crate::session::engine::paths::path::{PeerName, SessionPath};
use crate::session::engine::paths::source::Source;
use crate::session::engine::{SessionConfig, SessionId, SessionPathId, Sessions};
use crate::{ConnectionId, PathId, Tunnels};

impl Sessions {
    /// Adds a session. If it has a connection, [`Self::attach`] has to follow.
    pub(crate) fn add_session(&mut self, now: Instant, config: SessionConfig) -> SessionId {
        let identity = Identity {
            name: String::new(),
            kind: config.kind,
            peer: config.peer,
            psk: None,
            key: None,
        };
        let terms = Terms { timing: config.timing, largest_wish: 0 };
        let (origin, seal) = (Origin::configured(config.initiate, config.create), config.seal);
        let slot = self.insert(now, Beginning { identity, terms, origin, seal });
        if let Some(session) = self.at(slot) {
            session.configure(now, config);
        }
        self.timers.set_no_later(slot, now);
        self.id(slot)
    }

    /// Changes a session of the configuration; where its connection or its paths have changed,
    /// [`Self::attach`] has to follow. Another peer or preshared key ends its keys, and it begins
    /// anew. False if there is no such session.
    pub(crate) fn update_session(
        &mut self,
        now: Instant,
        id: SessionId,
        config: SessionConfig,
    ) -> bool {
        let Some(slot) = self.slot(id) else { return false };
        let Some(session) = self.at(slot) else { return false };
        let before = session.identity.peer;
        let same_psk = match (&session.identity.psk, &config.psk) {
            (None, None) => true,
            (Some(before), Some(after)) => *before.to_base64() == *after.to_base64(),
            _ => false,
        };
        let (peer, resealed) = (config.peer, session.set_seal(config.seal));
        session.configure(now, config);
        if before != peer || !same_psk || resealed {
            self.clear_keys(slot);
        }
        if before != peer {
            self.unlist(before, slot);
            self.by_peer.entry(peer).or_default().push(slot);
        }
        self.timers.set_no_later(slot, now);
        true
    }

    /// Gives a session its connection, and tells all the paths of that which take part: by the names
    /// that this end gives them if it initiates, or that are known to be given by the other end if
    /// not. A path without a name is given one, or its name is learnt. To be called again with all paths whenever one was added or
    /// removed; what the session knows of the others stays. From the first call on
    /// a path is used only after the peer has proved that it hears us there.
    pub(crate) fn attach<P: Copy>(
        &mut self,
        now: Instant,
        id: SessionId,
        connection: ConnectionId,
        paths: &[(Option<SessionPathId>, PathId)],
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(slot) = self.slot(id) else { return };
        let Some(data) = tunnels.connection(connection) else { return };
        let from = data.next_sequence();
        let epoch = self.shared.random.u32();
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        if let Some(before) = session.link.attach(connection)
            && before != connection
        {
            self.by_connection.remove(&before);
            session.tables.restart(epoch, from);
            session.paths.clear();
        } else {
            session.tables.begin(epoch, from);
        }
        self.by_connection.insert(connection, slot);
        session.origin.note_change(now);
        session.attach_paths(now, paths, tunnels);
        session.follow_connection(tunnels);
        session.settle(now, &mut self.shared, tunnels);
        self.timers.set_no_later(slot, now);
    }

    /// Takes the connection of a session away from it, because it is about to be removed. A session
    /// that the peer opened has [`Limits::attach_within`] for another one.
    pub(crate) fn detach(&mut self, now: Instant, id: SessionId) {
        let Some(slot) = self.slot(id) else { return };
        let Some(session) = self.at(slot) else { return };
        session.paths.clear();
        session.origin.note_change(now);
        session.tables.end();
        session.keys.policy.first = 0;
        if let Some(connection) = session.link.detach() {
            self.by_connection.remove(&connection);
        }
        self.timers.set_no_later(slot, now);
    }

    /// Lets a session with [`SessionConfig::create`] use its connection: the peer has created its
    /// own.
    pub(crate) fn open<P: Copy>(&mut self, now: Instant, id: SessionId, tunnels: &mut Tunnels<P>) {
        let Some(slot) = self.slot(id) else { return };
        let Some(Some(session)) = self.sessions.get_mut(slot as usize) else { return };
        session.origin.open();
        session.settle(now, &mut self.shared, tunnels);
        self.arm(slot);
    }
}

impl Session {
    /// Takes over a configuration, but for the connection.
    fn configure(&mut self, now: Instant, config: SessionConfig) {
        self.identity.name = config.name;
        self.identity.kind = config.kind;
        self.identity.peer = config.peer;
        self.identity.psk = config.psk;
        self.origin.configure(config.initiate, config.create);
        self.terms.largest_wish = config.largest_wish;
        if self.link.connection().is_none() {
            self.identity.key = config.key;
            let proved = |(socket, remote)| Anchor::proved(Source { socket, remote }, WITHOUT_PATH);
            self.link.set_anchor(config.remote.map(proved));
        }
        self.terms.timing = config.timing;
        for path in &mut self.paths {
            path.set_timing(now, config.timing);
        }
    }

    /// Follows changes that others have made to the connection.
    pub(crate) fn follow_connection<P: Copy>(&mut self, tunnels: &Tunnels<P>) {
        if let Some(connection) = self.link.connection().and_then(|id| tunnels.connection(id)) {
            self.identity.key = connection.config().key;
        }
    }

    /// Takes over which paths there are.
    fn attach_paths<P: Copy>(
        &mut self,
        now: Instant,
        paths: &[(Option<SessionPathId>, PathId)],
        tunnels: &mut Tunnels<P>,
    ) {
        let mut before = self.paths.take();
        for &(given, id) in paths.iter().take(MAX_PATHS) {
            let Some(data) = tunnels.path(id) else { continue };
            let (own, peers) = if self.origin.initiates() { (given, None) } else { (None, given) };
            let is_named = |path: &SessionPath| own.is_none_or(|own| path.own_id == own);
            let known = before.iter().position(|path| path.id == id && is_named(path));
            let mut path = match known {
                Some(known) => {
                    let mut path = before.swap_remove(known);
                    path.follow(now, data);
                    path
                }
                None => {
                    let own_id = own.unwrap_or_else(|| self.paths.new_id());
                    self.paths.reserve_id(own_id);
                    let mut path = SessionPath::new(now, id, data, own_id, self.terms.timing);
                    path.liveness.set_active(now, self.traffic.is_active());
                    path.discovery.set_active(now, self.traffic.is_active());
                    path
                }
            };
            if let Some(id) = peers {
                path.peer_name = Some(PeerName { id, bound: self.handshake.completed });
            }
            self.paths.push(path);
        }
        if let Some(connection) = self.link.connection() {
            for i in 0..self.paths.len() {
                self.follow_table(now, i, connection, tunnels);
            }
        }
        self.set_active(now, true, tunnels);
    }
}
