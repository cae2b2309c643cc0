//! Our side of the exchanges that we begin: what is told over which path, and what an answer means.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mpt_wire::compat::command::{self, Code, Header, PathStatus, Round};

use super::connection::{Connection, DOWN, UP, event, nonce_of};
use super::initiator::{Announcement, Exchange, Wish};
use super::path::Path;
use super::{Destination, Event, Outcome, PathConfig, Waiting, create};
use crate::PathId;

/// Pause after a creation that was refused or not answered.
const CREATE_AGAIN: Duration = Duration::from_secs(30);

impl Connection {
    /// An answer of the peer, whose source, tunnel addresses and digest are right.
    pub(super) fn answer(
        &mut self,
        now: Instant,
        header: &Header,
        payload: &[u8],
        waiting: &mut Waiting,
    ) {
        let asked = |exchange: &&mut Exchange| code_of(exchange) == header.code;
        let Some(exchange) = self.exchange.as_mut().filter(asked) else {
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
                self.end(now, header.argument, payload, waiting);
                self.step(now, waiting);
            }
            (Round::Four, Some(_)) => self.counters.wrong_nonce += 1,
            // Copies, mostly.
            _ => self.counters.wrong_round += 1,
        }
    }

    /// Begins the next command, if there is a path for it.
    pub(super) fn start(&mut self, now: Instant, waiting: &mut Waiting) {
        if self.wish.due.is_some_and(|due| due <= now) {
            // First: before it the peer does not know what it is told of.
            let may =
                |path: &&Path| path.config.usable && !self.wish.tried.contains(&path.config.id);
            if let Some(carrier) = self.paths.iter().find(may) {
                self.exchange = Some(Exchange::new(now, None, carrier.config.id));
                return;
            }
            self.wish_again(now, Outcome::Unanswered, waiting);
        }
        while let Some(announcement) = self.queue.pop() {
            match self.carrier(&announcement) {
                Some(carrier) => {
                    self.exchange = Some(Exchange::new(now, Some(announcement), carrier));
                    return;
                }
                None => self.give_up(now, &announcement, waiting),
            }
        }
    }

    /// The path over which a status is told: another one that works if there is one; the path itself
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
    pub(super) fn send(&mut self, waiting: &mut Waiting) {
        let Some(exchange) = &self.exchange else { return };
        let path = |id| self.paths.iter().find(|path: &&Path| path.config.id == id);
        let Some(carrier) = path(exchange.carrier) else { return };
        let (argument, content) = match &exchange.announcement {
            Some(announcement) => {
                let Some(about) = path(announcement.path) else { return };
                let PathConfig { public, remote, .. } = about.config;
                let argument = if announcement.up { UP } else { DOWN };
                (argument, PathStatus { public, remote }.emit().to_vec())
            }
            None => (UP, self.describe(usize::MAX)),
        };
        let (round, payload) = match exchange.nonce {
            None => (Round::One, command::announced(content.len()).to_vec()),
            Some(_) => (Round::Three, content),
        };
        let code = code_of(exchange);
        let header = Header {
            code,
            argument,
            authentication: self.proof(code, exchange.nonce.unwrap_or(0)),
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
    pub(super) fn fail(&mut self, now: Instant, waiting: &mut Waiting) {
        let Some(exchange) = self.exchange.take() else { return };
        let Some(mut announcement) = exchange.announcement else {
            self.wish.tried.push(exchange.carrier);
            return;
        };
        announcement.tried.push(exchange.carrier);
        if self.carrier(&announcement).is_some() {
            self.queue.push_again(announcement);
        } else {
            self.give_up(now, &announcement, waiting);
        }
    }

    /// Returns what we say of our end in a creation.
    pub(super) fn describe(&self, most: usize) -> Vec<u8> {
        let paths = self.paths.iter().map(|path| (path.config.public, path.config.remote));
        let create = self.config.create.as_ref();
        create.map_or_else(Vec::new, |create| create::describe(&self.config, create, paths, most))
    }

    /// True if it takes part in creations: as the one that answers requests, or as the one that asks.
    pub(super) fn creates(&self, requests: bool) -> bool {
        self.config.create.as_ref().is_some_and(|create| create.ask != requests)
    }

    fn give_up(&mut self, now: Instant, announcement: &Announcement, waiting: &mut Waiting) {
        self.counters.commands_unanswered += 1;
        self.report(announcement, Outcome::Unanswered, waiting);
        if let Some(path) = self.path_mut(announcement.path).filter(|_| announcement.proof) {
            path.not_proved(now);
        }
    }

    /// The peer has answered the last round.
    fn end(&mut self, now: Instant, code: u8, payload: &[u8], waiting: &mut Waiting) {
        let Some(exchange) = self.exchange.take() else { return };
        let exists = exchange.announcement.is_none() && code == create::code::EXISTS;
        let outcome = if exists { Outcome::Done } else { Outcome::of(code) };
        let done = outcome == Outcome::Done;
        match done {
            true => self.counters.commands_done += 1,
            false => self.counters.commands_refused += 1,
        }
        let Some(announcement) = exchange.announcement else {
            if done {
                self.wish.due = None;
                self.report_creation(outcome, create::data_port(payload), waiting);
            } else {
                self.wish_again(now, outcome, waiting);
            }
            return;
        };
        self.report(&announcement, outcome, waiting);
        let Some(path) = self.path_mut(announcement.path).filter(|_| announcement.proof) else {
            return;
        };
        if done {
            path.told_down = None;
            let state = event(path);
            waiting.path_events.push_back(state);
        } else {
            path.not_proved(now);
        }
    }

    /// The creation has failed: once more, later.
    fn wish_again(&mut self, now: Instant, outcome: Outcome, waiting: &mut Waiting) {
        if outcome == Outcome::Unanswered {
            self.counters.commands_unanswered += 1;
        }
        self.wish = Wish { due: Some(now + CREATE_AGAIN), tried: Vec::new() };
        self.report_creation(outcome, None, waiting);
    }

    fn report_creation(&self, outcome: Outcome, data_port: Option<u16>, waiting: &mut Waiting) {
        let connection = self.config.name.clone();
        waiting.tell(Event::Created { connection, asked: true, outcome, data_port });
    }

    fn report(&self, announcement: &Announcement, outcome: Outcome, waiting: &mut Waiting) {
        let path = self.paths.iter().find(|path| path.config.id == announcement.path);
        if let Some(path) = path {
            waiting.tell(Event::Told {
                connection: self.config.name.clone(),
                path: path.config.name.clone(),
                up: announcement.up,
                outcome,
            });
        }
    }
}

/// Returns what an exchange is about.
fn code_of(exchange: &Exchange) -> Code {
    match exchange.announcement {
        Some(_) => Code::PathStatus,
        None => Code::Create,
    }
}
