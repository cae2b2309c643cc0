//! Commands of the peer: strict rounds, one exchange of a connection at a time.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mpt_wire::legacy::command::{self, Header, PathStatus, Round};

use super::connection::{Connection, DOWN, UP, event, nonce_of};
use super::{Authentication, Destination, Waiting};
use crate::SocketId;
use crate::control::Random;

/// How long an exchange may take: the six tries of the prototype for each of its two messages, and
/// as much again.
const LIFETIME: Duration = Duration::from_secs(12);

/// A command of the peer.
#[derive(Debug)]
pub(super) struct Answered {
    source: SocketAddr,
    /// Its first message, of which there may be copies.
    first: Vec<u8>,
    header: Header,
    nonce: u32,
    at: Instant,
    executed: bool,
}

/// A message with where it came from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    pub(super) socket: SocketId,
    pub(super) source: SocketAddr,
    pub(super) bytes: &'a [u8],
    pub(super) header: &'a Header,
    pub(super) payload: &'a [u8],
}

impl Connection {
    /// Round 1 or 3 of the peer, whose source address, tunnel addresses and digest are right.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        message: Message<'_>,
        random: &mut Random,
        waiting: &mut Waiting,
    ) {
        if !matches!(message.header.argument, UP | DOWN) {
            self.counters.wrong_argument += 1;
            return;
        }
        let nonce = match message.header.round {
            Round::One => self.begin(now, message, random),
            _ => self.finish(now, message, waiting),
        };
        let Some(nonce) = nonce else { return };
        let (round, payload) = match message.header.round {
            Round::One => (Round::Two, message.payload),
            _ => (Round::Four, &[][..]),
        };
        // Whatever the status was, all went well: of a path that is not here the peer need not know.
        let header =
            Header { argument: 0, authentication: self.proof(nonce), round, ..*message.header };
        let bytes = self.emit(&header, payload);
        self.counters.answers_sent += 1;
        let destination = Destination::Answer { socket: message.socket, remote: message.source };
        waiting.send(destination, bytes);
    }

    /// Notes a command and gives the nonce of the answer: that of the first answer for a copy.
    fn begin(&mut self, now: Instant, message: Message<'_>, random: &mut Random) -> Option<u32> {
        let Message { source, bytes, header, payload, .. } = message;
        if payload.len() != command::ANNOUNCED_LEN {
            self.counters.truncated += 1;
            return None;
        }
        if let Some(before) = &self.answered
            && !before.executed
            && before.is_alive(now)
            && (before.source, before.first.as_slice()) == (source, bytes)
        {
            return Some(before.nonce);
        }
        let nonce = match self.config.authentication {
            Authentication::None => 0,
            _ => random.u32(),
        };
        let (first, header) = (bytes.to_vec(), *header);
        self.answered = Some(Answered { source, first, header, nonce, at: now, executed: false });
        Some(nonce)
    }

    /// Executes a command, once, and gives the nonce of the answer.
    fn finish(&mut self, now: Instant, message: Message<'_>, waiting: &mut Waiting) -> Option<u32> {
        let Message { source, header, payload, .. } = message;
        let begun = self.answered.as_mut().filter(|begun| {
            let what = |header: &Header| (header.code, header.argument);
            begun.is_alive(now) && begun.source == source && what(&begun.header) == what(header)
        });
        let Some(begun) = begun else {
            self.counters.no_exchange += 1;
            return None;
        };
        let nonce = begun.nonce;
        if nonce_of(&header.authentication) != nonce {
            self.counters.wrong_nonce += 1;
            return None;
        }
        let Ok(status) = PathStatus::parse(payload) else {
            self.counters.truncated += 1;
            return None;
        };
        if !std::mem::replace(&mut begun.executed, true) {
            self.counters.commands_executed += 1;
            self.execute(now, status, header.argument == UP, waiting);
        }
        Some(nonce)
    }

    fn execute(&mut self, now: Instant, status: PathStatus, up: bool, waiting: &mut Waiting) {
        let meant = |path: &&mut super::path::Path| {
            (path.config.remote, path.config.public) == (status.public, status.remote)
        };
        let mut found = false;
        for path in self.paths.iter_mut().filter(meant) {
            found = true;
            if up {
                // It may be heard, and be sent on; what was decided here stays.
                (path.told_down, path.silent, path.heard) = (None, false, now);
            } else {
                path.tell_down(now);
            }
            waiting.events.push_back(event(path));
        }
        if !found {
            self.counters.unknown_path += 1;
        }
    }
}

impl Answered {
    fn is_alive(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < LIFETIME
    }
}
