//! One connection to a prototype: its paths, and the exchanges of both ends.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use mpt_wire::legacy::command::{self, Authentication as Proof, Code, Header, PathStatus, Round};
use mpt_wire::legacy::keepalive::Keepalive;

use super::initiator::{Announcement, Exchange, Queue, Step};
use super::path::Path;
use super::responder::Answered;
use super::{Authentication, Config, Counters, Destination, Event, Outcome, PathConfig, Waiting};
use crate::PathId;

/// Up.
pub(super) const UP: u8 = 0x00;
/// Down.
pub(super) const DOWN: u8 = 0x80;

/// A connection and its state.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) config: Config,
    pub(super) paths: Vec<Path>,
    pub(super) counters: Counters,
    /// The peer's command that is being answered, or was last.
    pub(super) answered: Option<Answered>,
    exchange: Option<Exchange>,
    queue: Queue,
}

impl Connection {
    pub(super) fn new(now: Instant, mut config: Config) -> Self {
        let paths = std::mem::take(&mut config.paths);
        Self {
            config,
            paths: paths.into_iter().map(|path| Path::new(now, path)).collect(),
            counters: Counters::default(),
            answered: None,
            exchange: None,
            queue: Queue::default(),
        }
    }

    /// Becomes what the configuration says; paths that stay keep their state.
    pub(super) fn change(&mut self, now: Instant, mut config: Config, waiting: &mut Waiting) {
        let paths = std::mem::take(&mut config.paths);
        if config != self.config {
            // With other addresses or keys, what is under way means nothing any more.
            (self.exchange, self.answered) = (None, None);
        }
        self.config = config;
        let mut before = std::mem::take(&mut self.paths);
        for new in paths {
            let same = |old: &Path| {
                let old = &old.config;
                (old.id, &old.name, old.public, old.remote)
                    == (new.id, &new.name, new.public, new.remote)
            };
            match before.iter().position(same) {
                Some(at) => {
                    let usable = new.usable;
                    self.paths.push(before.swap_remove(at));
                    self.set_usable(now, new.id, usable, waiting);
                }
                None => self.paths.push(Path::new(now, new)),
            }
        }
        let there = |id| self.paths.iter().any(|path| path.config.id == id);
        self.queue.retain(there);
        let of = |it: &Exchange| there(it.announcement.path) && there(it.carrier);
        self.exchange = self.exchange.take().filter(of);
    }

    /// A path can be used from here, or cannot any more: the peer is told.
    pub(super) fn set_usable(
        &mut self,
        now: Instant,
        id: PathId,
        usable: bool,
        waiting: &mut Waiting,
    ) {
        let path = self.path_mut(id).filter(|path| path.config.usable != usable);
        let Some(path) = path else { return };
        path.set_usable(now, usable);
        let state = event(path);
        waiting.events.push_back(state);
        self.queue.push(Announcement::new(id, usable));
    }

    /// A keepalive came in over a path.
    pub(super) fn hear(&mut self, now: Instant, id: PathId, waiting: &mut Waiting) {
        self.counters.keepalives_received += 1;
        let Some(path) = self.path_mut(id) else { return };
        path.heard = now;
        if std::mem::take(&mut path.silent) {
            let state = event(path);
            waiting.events.push_back(state);
        }
        // That we hear the peer does not say that it hears us.
        let path = self.path_mut(id).filter(|path| path.is_to_be_proved(now));
        if path.is_some() && !self.queue.contains(id) && !self.is_about(id) {
            self.queue.push(Announcement::proof(id));
        }
    }

    /// Does what is due.
    pub(super) fn step(&mut self, now: Instant, waiting: &mut Waiting) {
        let (keepalive, dead) = (self.config.keepalive, self.config.dead);
        let beat = Keepalive { sender: self.config.local, receiver: self.config.remote };
        for path in &mut self.paths {
            if path.keepalive_at(keepalive).is_some_and(|at| at <= now) {
                path.keepalive_sent(now, keepalive);
                self.counters.keepalives_sent += 1;
                waiting.send(Destination::Data(path.config.id), beat.emit().to_vec());
            }
            if path.silent_at(dead).is_some_and(|at| at <= now) {
                path.silent = true;
                waiting.events.push_back(event(path));
                self.queue.push(Announcement::new(path.config.id, false));
            }
        }
        // Every turn starts an exchange, sends a message, or ends one exchange for good or over one
        // of its paths.
        for _ in 0..=self.queue.len() + self.paths.len() {
            if self.exchange.is_none() {
                self.start(now, waiting);
            }
            let Some(exchange) = &mut self.exchange else { return };
            match exchange.step(now) {
                Step::Wait => return,
                Step::Send => self.send(waiting),
                Step::Fail => self.fail(now, waiting),
            }
        }
    }

    /// When [`Self::step`] is due.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let (keepalive, dead) = (self.config.keepalive, self.config.dead);
        let times = self
            .paths
            .iter()
            .flat_map(|path| [path.keepalive_at(keepalive), path.silent_at(dead)])
            .flatten();
        let exchange = match &self.exchange {
            Some(exchange) => Some(exchange.next()),
            None => (self.queue.len() > 0).then_some(now),
        };
        times.chain(exchange).min()
    }

    /// An answer of the peer, whose source, tunnel addresses and digest are right.
    pub(super) fn answer(&mut self, now: Instant, header: &Header, waiting: &mut Waiting) {
        let Some(exchange) = self.exchange.as_mut().filter(|_| header.code == Code::PathStatus)
        else {
            self.counters.wrong_round += 1;
            return;
        };
        let nonce = nonce_of(&header.authentication);
        match (header.round, exchange.nonce) {
            (Round::Two, None) => {
                exchange.advance(now, nonce);
                self.step(now, waiting);
            }
            (Round::Four, Some(expected)) if expected == nonce => {
                let outcome = match header.argument {
                    0 => Outcome::Done,
                    code => Outcome::Refused(code),
                };
                self.end(now, outcome, waiting);
                self.step(now, waiting);
            }
            (Round::Four, Some(_)) => self.counters.wrong_nonce += 1,
            // Copies, mostly.
            _ => self.counters.wrong_round += 1,
        }
    }

    /// Begins the next command, if there is a path for it.
    fn start(&mut self, now: Instant, waiting: &mut Waiting) {
        while let Some(announcement) = self.queue.pop() {
            match self.carrier(&announcement) {
                Some(carrier) => {
                    self.exchange = Some(Exchange::new(now, announcement, carrier));
                    return;
                }
                None => self.give_up(now, &announcement, waiting),
            }
        }
    }

    /// The path over which a command goes: another one that works if there is one; the path itself
    /// last, or only, if it is to be proved.
    fn carrier(&self, announcement: &Announcement) -> Option<PathId> {
        let about = announcement.path;
        let rank = |path: &Path| match path.config.id == about {
            true => 2,
            false => u8::from(!path.is_good()),
        };
        let may = |path: &&Path| {
            let id = path.config.id;
            !announcement.tried.contains(&id)
                && (id == about || (!announcement.proof && path.config.usable))
        };
        self.paths.iter().filter(may).min_by_key(|path| rank(path)).map(|path| path.config.id)
    }

    /// Sends the message whose turn it is.
    fn send(&mut self, waiting: &mut Waiting) {
        let Some(exchange) = &self.exchange else { return };
        let path = |id| self.paths.iter().find(|path: &&Path| path.config.id == id);
        let (Some(about), Some(carrier)) =
            (path(exchange.announcement.path), path(exchange.carrier))
        else {
            return;
        };
        let (round, payload) = match exchange.nonce {
            None => (Round::One, command::announced(command::PATH_STATUS_LEN).to_vec()),
            Some(_) => {
                let PathConfig { public, remote, .. } = about.config;
                (Round::Three, PathStatus { public, remote }.emit().to_vec())
            }
        };
        let header = Header {
            code: Code::PathStatus,
            argument: if exchange.announcement.up { UP } else { DOWN },
            authentication: self.proof(exchange.nonce.unwrap_or(0)),
            round,
            initiator: self.config.local,
            responder: self.config.remote,
        };
        let destination = Destination::Command {
            path: carrier.config.id,
            remote: SocketAddr::new(carrier.config.remote, self.config.command_port),
        };
        let bytes = self.emit(&header, &payload);
        self.counters.requests_sent += 1;
        waiting.send(destination, bytes);
    }

    /// No answer over this path: over another one, if there is one.
    fn fail(&mut self, now: Instant, waiting: &mut Waiting) {
        let Some(exchange) = self.exchange.take() else { return };
        let mut announcement = exchange.announcement;
        announcement.tried.push(exchange.carrier);
        if self.carrier(&announcement).is_some() {
            self.queue.push_again(announcement);
        } else {
            self.give_up(now, &announcement, waiting);
        }
    }

    fn give_up(&mut self, now: Instant, announcement: &Announcement, waiting: &mut Waiting) {
        self.counters.commands_unanswered += 1;
        self.report(announcement, Outcome::Unanswered, waiting);
        if let Some(path) = self.path_mut(announcement.path).filter(|_| announcement.proof) {
            path.not_proved(now);
        }
    }

    /// The peer has answered the last round.
    fn end(&mut self, now: Instant, outcome: Outcome, waiting: &mut Waiting) {
        let Some(exchange) = self.exchange.take() else { return };
        let done = outcome == Outcome::Done;
        match done {
            true => self.counters.commands_done += 1,
            false => self.counters.commands_refused += 1,
        }
        let announcement = exchange.announcement;
        self.report(&announcement, outcome, waiting);
        if !announcement.proof {
            return;
        }
        let Some(path) = self.path_mut(announcement.path) else { return };
        if done {
            path.told_down = None;
            let state = event(path);
            waiting.events.push_back(state);
        } else {
            path.not_proved(now);
        }
    }

    fn report(&self, announcement: &Announcement, outcome: Outcome, waiting: &mut Waiting) {
        let path = self.paths.iter().find(|path| path.config.id == announcement.path);
        if let Some(path) = path {
            waiting.events.push_back(Event::Told {
                connection: self.config.name.clone(),
                path: path.config.name.clone(),
                up: announcement.up,
                outcome,
            });
        }
    }

    fn is_about(&self, id: PathId) -> bool {
        self.exchange.as_ref().is_some_and(|exchange| exchange.announcement.path == id)
    }

    /// What authenticates a message of ours; the digest is filled in by [`Self::emit`].
    pub(super) fn proof(&self, nonce: u32) -> Proof {
        match self.config.authentication {
            Authentication::None => Proof::None,
            Authentication::Nonce => Proof::Nonce(nonce),
            Authentication::Digest(_) => Proof::Digest { nonce, digest: [0; command::DIGEST_LEN] },
        }
    }

    /// The bytes of a message, signed where messages are.
    pub(super) fn emit(&self, header: &Header, payload: &[u8]) -> Vec<u8> {
        let mut message = Vec::new();
        header.emit(payload, &mut message);
        if let Authentication::Digest(key) = &self.config.authentication {
            key.sign(&mut message);
        }
        message
    }

    /// Whether this is a path of it.
    pub(super) fn has_path(&self, id: PathId) -> bool {
        self.paths.iter().any(|path| path.config.id == id)
    }

    /// Whether packets of the peer come from there.
    pub(super) fn has_remote(&self, address: IpAddr) -> bool {
        self.paths.iter().any(|path| path.config.remote == address)
    }

    pub(super) fn path_mut(&mut self, id: PathId) -> Option<&mut Path> {
        self.paths.iter_mut().find(|path| path.config.id == id)
    }

    /// Whether a command of ours is on its way.
    pub(super) fn is_busy(&self) -> bool {
        self.exchange.is_some()
    }
}

/// How a path is now.
pub(super) fn event(path: &Path) -> Event {
    let (silent, told_down) = (path.silent, path.told_down.is_some());
    Event::Path { path: path.config.id, silent, told_down }
}

pub(super) fn nonce_of(authentication: &Proof) -> u32 {
    match authentication {
        Proof::None => 0,
        Proof::Nonce(nonce) | Proof::Digest { nonce, .. } => *nonce,
    }
}
