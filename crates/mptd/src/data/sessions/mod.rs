//! The control protocol on the data thread: sessions follow the connections, frames go in and out, and what takes a decision is handed
//! to the control side.

mod compat;
pub(super) mod entries;
pub(super) mod suites;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use mpt_config as config;
use mpt_core::node::PathEvent;
use mpt_core::session::{
    self, Event, JoinToken, Limits, Peer, PrivateKey, PublicKey, RequestRefused, SessionConfig,
    SessionId, SessionPathId,
};
use mpt_core::{PathId, SocketId};
use mpt_wire::control::{Kind, Reason};

use super::memory::shares::Owner;
use super::sockets::SocketKey;
use super::system::System;
use super::{ChangeError, DataPath, Notice, Wanted};
use crate::convert;
use entries::Entry;

impl<S: System> DataPath<S> {
    /// Sets the key of this host, and the peers that may open sessions without a connection of the configuration. Sessions of those who may no
    /// longer have ended when it returns, and their peers have been sent a Goodbye.
    pub(crate) fn set_identity(
        &mut self,
        key: Option<PrivateKey>,
        peers: Vec<Peer>,
        limits: Limits,
    ) {
        let now = self.system.now();
        self.node.set_identity(now, key);
        self.node.set_peers(now, peers);
        self.node.set_limits(limits);
        // Before a later call takes the paths away on which the goodbyes leave.
        self.settle();
    }

    /// Sets the tokens with which hosts may join.
    pub(crate) fn set_join_tokens(&mut self, tokens: Vec<JoinToken>) {
        self.node.set_join_tokens(self.system.now(), tokens);
        self.settle();
    }

    /// Opens the sockets on which clients and controllers reach us, and closes those that are listed no more.
    pub(crate) fn set_listeners(
        &mut self,
        addresses: &[IpAddr],
        port: u16,
    ) -> Result<(), ChangeError> {
        let mut opened = Vec::new();
        for &local in addresses {
            let key = SocketKey { local, interface: None, checksum: true };
            match self.sockets.open(&self.system, &key, port) {
                Ok(id) => opened.push(id),
                Err(source) => {
                    opened.into_iter().for_each(|id| self.sockets.close(&self.system, id));
                    return Err(ChangeError::Listen {
                        local: SocketAddr::new(local, port),
                        source,
                    });
                }
            }
        }
        for id in std::mem::replace(&mut self.sessions.listeners, opened) {
            self.sockets.close(&self.system, id);
        }
        Ok(())
    }

    /// True if the connection of this name has a session with another peer, or another pre-shared key, than it is to have.
    pub(super) fn is_exchanged(&self, config: &config::Connection) -> bool {
        let entry = self.sessions.by_connection.get(&config.name);
        entry.zip(config.peer.as_ref()).is_some_and(|(entry, peer)| !entry.is_with(peer))
    }

    /// Ends the sessions of connections that are gone, or whose session is to be another one: their peers are sent a Goodbye.
    pub(super) fn end_sessions(&mut self, now: Instant, wanted: &[Wanted]) {
        let gone: Vec<(String, Reason)> = self
            .sessions
            .by_connection
            .iter()
            .filter_map(|(name, entry)| {
                let mut same = wanted.iter().filter(|it| it.client.is_none());
                let same = same.find(|it| it.config.name == *name);
                match same.and_then(|it| it.config.peer.as_ref()) {
                    Some(peer) if entry.peer.has_same_session(peer) => None,
                    Some(peer) if entry.is_with(peer) => Some(Reason::CONNECTION_REMOVED),
                    Some(_) => Some(Reason::REFUSED),
                    None => Some(Reason::CONNECTION_REMOVED),
                }
                .map(|reason| (name.clone(), reason))
            })
            .collect();
        for (name, reason) in gone {
            if let Some(entry) = self.sessions.by_connection.remove(&name) {
                self.node.close_session(now, entry.id, reason);
            }
        }
        self.settle();
    }

    /// Opens or changes the sessions of the connections.
    pub(super) fn follow_connections(&mut self, now: Instant, wanted: &[Wanted]) {
        for wanted in wanted {
            self.follow_connection(now, wanted);
        }
    }

    /// Opens or changes the session of one connection that is new or has changed.
    pub(super) fn follow_connection(&mut self, now: Instant, wanted: &Wanted) {
        let config = &wanted.config;
        let Some(id) = self.node.tunnels().find_connection(&config.name) else { return };
        let owner = match &wanted.client {
            Some(client) => Owner::Client(client.owner),
            None => Owner::Connection(id),
        };
        self.ingress.shares_mut().assign(id, owner);
        let paths: Vec<(String, PathId)> = config
            .paths
            .iter()
            .filter_map(|path| {
                Some((path.name.clone(), self.node.tunnels().find_path(id, &path.name)?))
            })
            .collect();
        let (session, paths) = match (&config.peer, &wanted.client) {
            (None, _) => return,
            (Some(_), Some(client)) => {
                let number = |name: &String| client.paths.iter().find(|(_, it)| *it == name);
                let numbered =
                    |(name, path): &(String, PathId)| Some((Some(*number(name)?.0), *path));
                (client.id, paths.iter().filter_map(numbered).collect())
            }
            (Some(peer), None) => self.configured_session(now, config, peer, &paths),
        };
        self.node.attach(now, session, id, &paths);
    }

    /// The session of a connection of the configuration, opened if there is none, and its paths with their numbers.
    fn configured_session(
        &mut self,
        now: Instant,
        config: &config::Connection,
        peer: &config::Peer,
        paths: &[(String, PathId)],
    ) -> (SessionId, Vec<(Option<SessionPathId>, PathId)>) {
        let entry = self.sessions.by_connection.get_mut(&config.name);
        let mut numbers = entry.map(|entry| std::mem::take(&mut entry.numbers)).unwrap_or_default();
        let numbered = number(peer, &mut numbers, paths);
        let session = SessionConfig {
            name: config.name.clone(),
            kind: Kind::Connection,
            peer: peer.public_key,
            psk: peer.psk.clone(),
            initiate: peer.initiate,
            create: peer.create,
            key: config.key,
            timing: convert::timing(&peer.timing),
            largest_wish: if peer.follow_weights { u16::MAX } else { 0 },
            seal: convert::seal(config.seal),
            remote: None,
        };
        let id = match self.session_of(&config.name) {
            Some(id) => {
                self.node.update_session(now, id, session);
                id
            }
            None => self.node.add_session(now, session),
        };
        let entry = Entry { id, peer: peer.clone(), numbers };
        self.sessions.by_connection.insert(config.name.clone(), entry);
        (id, numbered)
    }

    /// The session of a connection of the configuration.
    pub(crate) fn session_of(&self, connection: &str) -> Option<SessionId> {
        self.sessions.by_connection.get(connection).map(|entry| entry.id)
    }

    /// Sends a request to the peer of a session, and returns the number with which the result comes.
    pub(crate) fn request(
        &mut self,
        session: SessionId,
        body: Vec<u8>,
    ) -> Result<u32, RequestRefused> {
        self.node.request(self.system.now(), session, body)
    }

    /// Returns how many requests of each peer were refused since the last time.
    pub(crate) fn take_refused(&mut self) -> Vec<(PublicKey, u64)> {
        self.node.take_refused(self.system.now())
    }

    /// The peer of a session.
    pub(crate) fn peer_of(&self, session: SessionId) -> Option<PublicKey> {
        Some(self.node.sessions().session(session)?.peer)
    }

    /// Answers a request of the peer.
    pub(crate) fn answer(&mut self, session: SessionId, id: u32, body: Vec<u8>) {
        self.node.answer(self.system.now(), session, id, body);
    }

    /// Opens the session for data after the peer has created the connection: its paths carry data once they are confirmed.
    pub(crate) fn open_session(&mut self, session: SessionId) {
        self.node.open(self.system.now(), session);
    }

    /// The numbers that the paths of a connection of the configuration have in its session, by name.
    pub(crate) fn path_numbers(&self, connection: &str) -> BTreeMap<String, u16> {
        let entry = self.sessions.by_connection.get(connection);
        entry.map(|entry| entry.numbers.clone()).unwrap_or_default()
    }

    /// Says goodbye to everybody, and sends it.
    pub(crate) fn say_goodbye(&mut self) {
        let now = self.system.now();
        self.node.close_all(now);
        self.settle();
    }

    /// Does what is due, if anything is.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.node.next_timeout().is_some_and(|at| at <= now) {
            let node = &mut self.node;
            self.ingress.deliver(&mut self.devices, |sink| node.handle_timeout(now, sink));
        }
    }

    /// Sends what there is to send, follows what has happened to paths, and says whether there is something to decide.
    pub(super) fn settle(&mut self) {
        self.send_messages();
        while let Some(event) = self.node.poll_path_event() {
            self.follow_path_event(event);
        }
        // The rest waits there until the control side has time for it.
        if self.node.has_events() {
            self.notices.wake();
        }
    }

    fn follow_path_event(&mut self, event: PathEvent) {
        match event {
            PathEvent::Session(session::PathEvent::Moved { path, socket, remote }) => {
                self.move_path(path, socket, remote);
            }
            PathEvent::Session(session::PathEvent::Mtu { path, before, found, device }) => {
                self.path_mtu_found(path, (before, found), device);
            }
            PathEvent::Session(session::PathEvent::State { path, .. })
            | PathEvent::Prototype(path) => {
                if let Some((connection, path)) = self.names(path) {
                    self.notify(Notice::PathChanged { connection, path });
                }
            }
            PathEvent::State(transition) => self.tell_state(transition),
        }
    }

    fn move_path(&mut self, path: PathId, socket: SocketId, remote: SocketAddr) {
        let Some(io) = self.paths.get_mut(path) else { return };
        let left = io.move_to(socket, remote);
        if !left.is_empty() {
            self.sockets.share(socket);
        }
        left.into_iter().for_each(|id| self.sockets.close(&self.system, id));
        if let Some((connection, path)) = self.names(path) {
            self.notify(Notice::PathMoved { connection, path, remote });
        }
    }

    /// Connection and path by their names.
    pub(super) fn names(&self, path: PathId) -> Option<(String, String)> {
        let path = self.node.tunnels().path(path)?;
        let connection = self.node.tunnels().connection(path.connection())?;
        Some((connection.name().to_owned(), path.name().to_owned()))
    }

    /// The name of the connection whose session an event is about.
    pub(super) fn connection_of(&self, event: &Event) -> Option<String> {
        let session = match event {
            Event::Established { session, .. }
            | Event::Request { session, .. }
            | Event::Result { session, .. }
            | Event::Closed { session, .. }
            | Event::Unsealed { session, .. }
            | Event::Expired { session, .. } => *session,
        };
        let mut entries = self.sessions.by_connection.iter();
        entries.find(|(_, entry)| entry.id == session).map(|(name, _)| name.clone())
    }

    pub(super) fn notify(&mut self, notice: Notice) {
        self.notices.put(notice);
    }
}

/// Numbers for all of these paths, with the paths: given by the end that initiates, and learnt at the other.
fn number(
    peer: &config::Peer,
    numbers: &mut BTreeMap<String, u16>,
    paths: &[(String, PathId)],
) -> Vec<(Option<SessionPathId>, PathId)> {
    let mut number = |name: &String| {
        peer.initiate.then(|| {
            let next = numbers.values().max().map_or(1, |last| last.checked_add(1).unwrap_or(1));
            *numbers.entry(name.clone()).or_insert(next)
        })
    };
    paths.iter().map(|(name, id)| (number(name), *id)).collect()
}
