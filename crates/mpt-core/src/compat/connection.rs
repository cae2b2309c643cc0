//! One connection to a prototype: its paths, and the exchanges of both ends.

use std::net::IpAddr;
use std::time::Instant;

use mpt_wire::compat::command::{self, Authentication as Proof, Code, Header};
use mpt_wire::compat::keepalive::Keepalive;

use super::answered::Answered;
use super::event::PathEvent;
use super::initiator::{Announcement, Exchange, Queue, Step, Wish};
use super::path::Path;
use super::waiting::{Destination, Waiting};
use super::{Authentication, Config, Counters};
use crate::PathId;

/// Up, and the argument of a creation.
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
    pub(super) exchange: Option<Exchange>,
    pub(super) queue: Queue,
    /// The creation that we ask for.
    pub(super) wish: Wish,
}

impl Connection {
    pub(super) fn new(now: Instant, mut config: Config) -> Self {
        let paths = std::mem::take(&mut config.paths);
        let wish = Wish::of(now, &config);
        Self {
            config,
            paths: paths.into_iter().map(|path| Path::new(now, path)).collect(),
            counters: Counters::default(),
            answered: None,
            exchange: None,
            queue: Queue::default(),
            wish,
        }
    }

    /// Becomes what the configuration says; paths that stay keep their state.
    pub(super) fn change(&mut self, now: Instant, mut config: Config, waiting: &mut Waiting) {
        let paths = std::mem::take(&mut config.paths);
        if config != self.config {
            // With other addresses or keys, what is under way means nothing any more.
            (self.exchange, self.answered) = (None, None);
            self.wish = Wish::of(now, &config);
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
        let of = |it: &Exchange| {
            it.announcement.as_ref().is_none_or(|about| there(about.path)) && there(it.carrier)
        };
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
        waiting.path_events.push_back(state);
        self.queue.push(Announcement::new(id, usable));
    }

    /// A keepalive came in over a path.
    pub(super) fn hear(&mut self, now: Instant, id: PathId, waiting: &mut Waiting) {
        self.counters.keepalives_received += 1;
        let Some(path) = self.path_mut(id) else { return };
        path.heard = now;
        if std::mem::take(&mut path.silent) {
            let state = event(path);
            waiting.path_events.push_back(state);
        }
        // A keepalive shows that we hear the peer, but not that it hears us.
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
                waiting.path_events.push_back(event(path));
                self.queue.push(Announcement::new(path.config.id, false));
            }
        }
        // Every turn starts an exchange, sends a message, or ends one exchange for good or over one
        // of its paths.
        for _ in 0..=self.queue.len() + self.paths.len() + 1 {
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

    /// Returns the time at which [`Self::step`] is due.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let (keepalive, dead) = (self.config.keepalive, self.config.dead);
        let times = self
            .paths
            .iter()
            .flat_map(|path| [path.keepalive_at(keepalive), path.silent_at(dead)])
            .flatten();
        let exchange = match &self.exchange {
            Some(exchange) => Some(exchange.next()),
            None if self.queue.len() > 0 => Some(now),
            None => self.wish.due,
        };
        times.chain(exchange).min()
    }

    fn is_about(&self, id: PathId) -> bool {
        let about = self.exchange.as_ref().and_then(|exchange| exchange.announcement.as_ref());
        about.is_some_and(|announcement| announcement.path == id)
    }

    /// Returns how messages of this kind are authenticated.
    pub(super) fn authentication(&self, code: Code) -> &Authentication {
        match (code, &self.config.create) {
            (Code::Create, Some(create)) => &create.authentication,
            _ => &self.config.authentication,
        }
    }

    /// Returns what authenticates a message of ours; the digest is filled in by [`Self::emit`].
    pub(super) fn proof(&self, code: Code, nonce: u32) -> Proof {
        match self.authentication(code) {
            Authentication::None => Proof::None,
            Authentication::Nonce => Proof::Nonce(nonce),
            Authentication::Digest(_) => Proof::Digest { nonce, digest: [0; command::DIGEST_LEN] },
        }
    }

    /// The bytes of a message, signed where messages are.
    pub(super) fn emit(&self, header: &Header, payload: &[u8]) -> Vec<u8> {
        let mut message = Vec::new();
        header.emit(payload, &mut message);
        if let Authentication::Digest(key) = self.authentication(header.code) {
            key.sign(&mut message);
        }
        message
    }

    /// True if this is a path of it.
    pub(super) fn has_path(&self, id: PathId) -> bool {
        self.paths.iter().any(|path| path.config.id == id)
    }

    /// True if packets of the peer come from there.
    pub(super) fn has_remote(&self, address: IpAddr) -> bool {
        self.paths.iter().any(|path| path.config.remote == address)
    }

    pub(super) fn path_mut(&mut self, id: PathId) -> Option<&mut Path> {
        self.paths.iter_mut().find(|path| path.config.id == id)
    }

    /// True if a command of ours is on its way.
    pub(super) fn is_busy(&self) -> bool {
        self.exchange.is_some()
    }
}

/// Returns how a path is now.
pub(super) fn event(path: &Path) -> PathEvent {
    let (silent, told_down) = (path.silent, path.told_down.is_some());
    PathEvent { path: path.config.id, silent, told_down }
}

pub(super) fn nonce_of(authentication: &Proof) -> u32 {
    match authentication {
        Proof::None => 0,
        Proof::Nonce(nonce) | Proof::Digest { nonce, .. } => *nonce,
    }
}
