//! The control part of `mptsrv`, the prototype of the papers (docs/compat.md): keepalives, and
//! commands by which the two ends tell each other which paths are down. [`Node`](crate::Node) passes
//! the state of paths between it and the tunnels.
//!
//! Data is what tunnels send and receive anyway, on connections that are
//! [`loose`](crate::ConnectionConfig::loose): those leave packets that are no IP to the caller,
//! who hands them to [`Compat::handle_data`].

mod answered;
mod auth;
mod commands;
mod config;
mod connection;
mod counters;
mod create;
mod event;
mod initiator;
mod path;
mod responder;
mod waiting;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use answered::Message;
pub use auth::{Authentication, KEY_LEN, Key};
pub use config::{Config, Create, PathConfig};
use connection::Connection;
pub use counters::Counters;
pub use create::MAX_PATHS as MAX_CREATE_PATHS;
pub use event::{Event, Outcome, PathEvent};
use mpt_wire::compat::code;
use mpt_wire::compat::command::{self, Authentication as Proof, Header, Round};
use waiting::Waiting;
pub use waiting::{Destination, Transmit};

use crate::session::Random;
use crate::{PathId, SocketId};

/// All connections whose other end is a prototype.
#[derive(Debug)]
pub struct Compat {
    connections: Vec<Connection>,
    random: Random,
    waiting: Waiting,
    /// The counters of messages that belong to no connection.
    counters: Counters,
    next: Option<Instant>,
}

/// The state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Its counters.
    pub counters: Counters,
    /// True if a command of ours is on its way.
    pub busy: bool,
    /// The time since each path was last heard, or taken into use, in the order of the
    /// configuration.
    pub heard: Vec<(String, Duration)>,
}

impl Compat {
    /// An engine without connections. Nonces come from the seed, so nobody else may know it.
    pub fn new(seed: [u8; 32]) -> Self {
        Self {
            connections: Vec::new(),
            random: Random::new(seed),
            waiting: Waiting::default(),
            counters: Counters::default(),
            next: None,
        }
    }

    /// Makes the connections those of the list. A connection that stays keeps its state.
    pub fn set_connections(&mut self, now: Instant, configs: Vec<Config>) {
        let mut before = std::mem::take(&mut self.connections);
        for config in configs {
            let same = before.iter().position(|old| old.config.name == config.name);
            self.connections.push(match same {
                Some(at) => {
                    let mut connection = before.swap_remove(at);
                    connection.change(now, config, &mut self.waiting);
                    connection
                }
                None => Connection::new(now, config),
            });
        }
        self.reckon(now);
    }

    /// True if there is nothing to do here at all.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// A path can be used from here, or cannot any more: the administrator or its interface says so.
    pub fn set_usable(&mut self, now: Instant, path: PathId, usable: bool) {
        for connection in &mut self.connections {
            connection.set_usable(now, path, usable, &mut self.waiting);
        }
        self.reckon(now);
    }

    /// Handles a payload that arrived on the data port behind a GRE header over a path, and is no
    /// IP packet.
    pub fn handle_data(&mut self, now: Instant, path: PathId, payload: &[u8]) {
        let Self { connections, waiting, counters, .. } = self;
        let of_path = |it: &&mut Connection| it.has_path(path);
        let Some(connection) = connections.iter_mut().find(of_path) else {
            counters.unknown_data += 1;
            return;
        };
        match payload.first() {
            Some(&code::KEEPALIVE) => connection.hear(now, path, waiting),
            _ => connection.counters.unknown_data += 1,
        }
        self.reckon(now);
    }

    /// A datagram on a command port.
    pub fn handle_command(
        &mut self,
        now: Instant,
        socket: SocketId,
        source: SocketAddr,
        datagram: &[u8],
    ) {
        if let Err(count) = self.judge(now, socket, source, datagram) {
            count(&mut self.counters);
        }
        self.reckon(now);
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        for connection in &mut self.connections {
            connection.step(now, &mut self.waiting);
        }
        self.reckon(now);
    }

    /// Returns the time at which [`Self::handle_timeout`] is to be called.
    #[inline]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// The next message to be sent.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.waiting.transmits.pop_front()
    }

    /// Returns what a path has become: to be followed at once.
    pub fn poll_path_event(&mut self) -> Option<PathEvent> {
        self.waiting.path_events.pop_front()
    }

    /// Returns whether [`Self::poll_event`] would give something.
    #[must_use]
    pub fn has_events(&self) -> bool {
        !self.waiting.events.is_empty()
    }

    /// Returns what happened next.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.waiting.events.pop_front()
    }

    /// The counters of messages that belong to no connection.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The state of a connection; `None` if it has none here.
    pub fn view(&self, now: Instant, connection: &str) -> Option<View> {
        let found = self.connections.iter().find(|it| it.config.name == connection)?;
        let heard = |path: &path::Path| {
            (path.config.name.clone(), now.saturating_duration_since(path.heard))
        };
        Some(View {
            counters: found.counters,
            busy: found.is_busy(),
            heard: found.paths.iter().map(heard).collect(),
        })
    }

    /// Finds the connection of a command, checks who sent it, and has it answered; what is wrong
    /// with a message that belongs to no connection is to be counted.
    fn judge(
        &mut self,
        now: Instant,
        socket: SocketId,
        source: SocketAddr,
        datagram: &[u8],
    ) -> Result<(), fn(&mut Counters)> {
        let (header, payload) = Header::parse(datagram).map_err(refusal)?;
        let request = matches!(header.round, Round::One | Round::Three);
        let (local, remote) = match request {
            true => (header.responder, header.initiator),
            false => (header.initiator, header.responder),
        };
        let Self { connections, random, waiting, .. } = self;
        let ours = |it: &&mut Connection| (it.config.local, it.config.remote) == (local, remote);
        let Some(connection) = connections.iter_mut().find(ours) else {
            return Err(|counters| counters.unknown_connection += 1);
        };
        // Addresses of both kinds of sockets: IPv4 as itself.
        let source = SocketAddr::new(source.ip().to_canonical(), source.port());
        let answered_from = !request && source.port() != connection.config.command_port;
        if !connection.has_remote(source.ip()) || answered_from {
            connection.counters.wrong_source += 1;
            return Ok(());
        }
        if header.code == command::Code::Create && !connection.creates(request) {
            connection.counters.unknown_code += 1;
            return Ok(());
        }
        match (connection.authentication(header.code), &header.authentication) {
            (Authentication::None, Proof::None) | (Authentication::Nonce, Proof::Nonce(_)) => {}
            (Authentication::Digest(key), Proof::Digest { .. }) => {
                if !key.signed(datagram) {
                    connection.counters.wrong_digest += 1;
                    return Ok(());
                }
            }
            _ => {
                connection.counters.authentication_type += 1;
                return Ok(());
            }
        }
        if request {
            let message = Message { socket, source, bytes: datagram, header: &header, payload };
            connection.serve(now, message, random, waiting);
        } else {
            connection.answer(now, &header, payload, waiting);
        }
        Ok(())
    }

    fn reckon(&mut self, now: Instant) {
        self.next = self.connections.iter().filter_map(|it| it.next(now)).min();
    }
}

fn refusal(error: command::Error) -> fn(&mut Counters) {
    match error {
        command::Error::Truncated => |counters| counters.truncated += 1,
        command::Error::TooLong => |counters| counters.too_long += 1,
        command::Error::Code => |counters| counters.unknown_code += 1,
        command::Error::Authentication => |counters| counters.authentication_type += 1,
        command::Error::Round => |counters| counters.wrong_round += 1,
        command::Error::Version => |counters| counters.unknown_connection += 1,
    }
}
