//! Commands of the peer: strict rounds, one exchange of a connection at a time.

use std::time::Instant;

use mpt_wire::compat::command::{self, Code, Header, PathStatus, Round};

use super::answered::{Answered, Message};
use super::connection::{Connection, DOWN, UP, event, nonce_of};
use super::event::{Event, Outcome};
use super::waiting::{Destination, Waiting};
use super::{Authentication, create};
use crate::session::Random;

impl Connection {
    /// Round 1 or 3 of the peer, whose source address, tunnel addresses and digest are right.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        message: Message<'_>,
        random: &mut Random,
        waiting: &mut Waiting,
    ) {
        let code = message.header.code;
        let down = message.header.argument == DOWN && code == Code::PathStatus;
        if message.header.argument != UP && !down {
            self.counters.wrong_argument += 1;
            return;
        }
        let (nonce, argument, round, payload) = match message.header.round {
            Round::One => {
                let Some(nonce) = self.begin(now, message, random) else { return };
                (nonce, 0, Round::Two, message.payload.to_vec())
            }
            _ => {
                let Some((nonce, result)) = self.finish(now, message, waiting) else { return };
                let payload = match code {
                    Code::Create if result == create::code::OK => {
                        // The prototype takes no more than it sent.
                        self.describe(message.payload.len())
                    }
                    _ => Vec::new(),
                };
                (nonce, result, Round::Four, payload)
            }
        };
        let authentication = self.proof(code, nonce);
        let header = Header { argument, authentication, round, ..*message.header };
        let bytes = self.emit(&header, &payload);
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
            && before.result.is_none()
            && before.is_alive(now)
            && (before.source, before.first.as_slice()) == (source, bytes)
        {
            return Some(before.nonce);
        }
        let nonce = match self.authentication(header.code) {
            Authentication::None => 0,
            _ => random.u32(),
        };
        let (first, header) = (bytes.to_vec(), *header);
        self.answered = Some(Answered { source, first, header, nonce, at: now, result: None });
        Some(nonce)
    }

    /// Executes a command, once, and gives the nonce of the answer and its return code.
    fn finish(
        &mut self,
        now: Instant,
        message: Message<'_>,
        waiting: &mut Waiting,
    ) -> Option<(u32, u8)> {
        let Message { source, header, payload, .. } = message;
        let begun = self.answered.as_ref().filter(|begun| {
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
        if let Some(result) = begun.result {
            return Some((nonce, result));
        }
        let result = match header.code {
            Code::PathStatus => {
                let Ok(status) = PathStatus::parse(payload) else {
                    self.counters.truncated += 1;
                    return None;
                };
                self.execute(now, status, header.argument == UP, waiting);
                // The answer is the same for a path that does not exist here: the peer need not know about it.
                create::code::OK
            }
            Code::Create => self.create(payload, waiting),
        };
        self.counters.commands_executed += 1;
        if let Some(begun) = &mut self.answered {
            begun.result = Some(result);
        }
        Some((nonce, result))
    }

    /// A client asks for the connection, which is here: gives the return code.
    fn create(&mut self, description: &[u8], waiting: &mut Waiting) -> u8 {
        let remotes = self.paths.iter().map(|path| path.config.remote);
        let result = create::judge(&self.config, remotes, description);
        waiting.tell(Event::Created {
            connection: self.config.name.clone(),
            asked: false,
            outcome: Outcome::of(result),
            data_port: create::data_port(description),
        });
        result
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
            waiting.path_events.push_back(event(path));
        }
        if !found {
            self.counters.unknown_path += 1;
        }
    }
}
