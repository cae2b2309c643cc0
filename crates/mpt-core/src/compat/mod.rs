//! The control part of `mptsrv`, the prototype of the papers (docs/compat.md): keepalives, and
//! commands by which the two ends tell each other which paths are down. Nothing else in this crate
//! knows of it; whoever drives an [`Tunnels`](crate::Tunnels) passes the state of paths between
//! the two.
//!
//! Data is what tunnels send and receive anyway, on connections that are
//! [`loose`](crate::ConnectionConfig::loose): those leave packets that are no IP to the caller,
//! who hands them to [`Compat::handle_data`].

mod auth;
mod commands;
mod config;
mod connection;
mod counters;
mod create;
mod initiator;
mod path;
mod responder;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub use auth::{Authentication, KEY_LEN, Key};
pub use config::{Config, PathConfig};
use connection::Connection;
pub use counters::Counters;
pub use create::{Create, MAX_PATHS as MAX_CREATE_PATHS};
use mpt_wire::legacy::code;
use mpt_wire::legacy::command::{self, Authentication as Proof, Header, Round};
use responder::Message;

use crate::session::Random;
use crate::{PathId, SocketId};

/// Messages that may wait to be sent; more are dropped, whatever is needed is repeated.
const MAX_WAITING: usize = 1024;
/// Events that may wait for the owner. A peer without authentication can cause them at any rate; the oldest make room.
const MAX_EVENTS: usize = 256;

/// All connections whose other end is a prototype.
#[derive(Debug)]
pub struct Compat {
    connections: Vec<Connection>,
    random: Random,
    waiting: Waiting,
    /// Of messages that belong to no connection.
    counters: Counters,
    next: Option<Instant>,
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// From the data socket of a path to its remote data port.
    Data(PathId),
    /// From the command socket of a path to the peer's.
    Command {
        /// The path.
        path: PathId,
        /// The peer.
        remote: SocketAddr,
    },
    /// From the socket on which a command came to where it came from.
    Answer {
        /// The socket.
        socket: SocketId,
        /// The peer.
        remote: SocketAddr,
    },
}

/// A UDP payload to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Where to.
    pub destination: Destination,
    /// The payload.
    pub bytes: Vec<u8>,
}

/// How a path is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathEvent {
    /// The path.
    pub path: PathId,
    /// Nothing has been heard on it for too long.
    pub silent: bool,
    /// The peer said that it is down.
    pub told_down: bool,
}

/// What happened that is for others to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A connection was to be created, by us or by the peer.
    Created {
        /// Name of the connection.
        connection: String,
        /// Whether we asked; else we answered.
        asked: bool,
        /// What came of it.
        outcome: Outcome,
        /// The data port of the peer, if it gave one.
        data_port: Option<u16>,
    },
    /// The peer was told how a path is.
    Told {
        /// Name of the connection.
        connection: String,
        /// Name of the path.
        path: String,
        /// Whether it is up.
        up: bool,
        /// What came of it.
        outcome: Outcome,
    },
}

/// What came of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The peer carried it out.
    Done,
    /// The peer refused it, with this return code.
    Refused(u8),
    /// The peer did not answer, over any path.
    Unanswered,
}

impl Outcome {
    /// By the return code of an answer.
    fn of(code: u8) -> Self {
        match code {
            create::code::OK => Self::Done,
            code => Self::Refused(code),
        }
    }
}

/// The state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Its counters.
    pub counters: Counters,
    /// Whether a command of ours is on its way.
    pub busy: bool,
    /// When each path was last heard, or taken into use, in the order of the configuration.
    pub heard: Vec<(String, Duration)>,
}

/// What waits for the caller.
#[derive(Debug, Default)]
struct Waiting {
    transmits: VecDeque<Transmit>,
    path_events: VecDeque<PathEvent>,
    events: VecDeque<Event>,
}

impl Compat {
    /// Without connections. The seed is that of nonces, so nobody else may know it.
    pub fn new(seed: [u8; 32]) -> Self {
        Self {
            connections: Vec::new(),
            random: Random::new(seed),
            waiting: Waiting::default(),
            counters: Counters::default(),
            next: None,
        }
    }

    /// Makes the connections those of the list. What stays keeps its state.
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

    /// Whether there is nothing to do here at all.
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

    /// What came on the data port behind a GRE header over a path, and is no IP packet.
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

    /// When [`Self::handle_timeout`] is to be called.
    #[inline]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// The next message to be sent.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.waiting.transmits.pop_front()
    }

    /// What a path has become: to be followed at once.
    pub fn poll_path_event(&mut self) -> Option<PathEvent> {
        self.waiting.path_events.pop_front()
    }

    /// Returns whether [`Self::poll_event`] would give something.
    #[must_use]
    pub fn has_events(&self) -> bool {
        !self.waiting.events.is_empty()
    }

    /// What happened next.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.waiting.events.pop_front()
    }

    /// Of messages that belong to no connection.
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

impl Waiting {
    /// Queues a message, unless there are too many.
    fn send(&mut self, destination: Destination, bytes: Vec<u8>) {
        if self.transmits.len() < MAX_WAITING {
            self.transmits.push_back(Transmit { destination, bytes });
        }
    }

    /// Queues an event in place of the oldest one where [`MAX_EVENTS`] wait.
    fn tell(&mut self, event: Event) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
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
