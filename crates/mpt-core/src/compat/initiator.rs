//! Commands of our own: four rounds, one command at a time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::Config;
use crate::PathId;

/// The most often that a message is sent.
const TRANSMISSIONS: u8 = 6;
/// The time for which each transmission waits for its answer.
const WAIT: Duration = Duration::from_millis(500);

/// The state of a path, to be told to the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Announcement {
    /// The path that the exchange concerns.
    pub(super) path: PathId,
    /// True if it is up.
    pub(super) up: bool,
    /// True if the answer is to prove that the path works: it has to travel over the path itself.
    pub(super) proof: bool,
    /// Paths over which it was not answered.
    pub(super) tried: Vec<PathId>,
}

impl Announcement {
    pub(super) fn new(path: PathId, up: bool) -> Self {
        Self { path, up, proof: false, tried: Vec::new() }
    }

    pub(super) fn proof(path: PathId) -> Self {
        Self { proof: true, ..Self::new(path, true) }
    }
}

/// A command on its way.
#[derive(Debug)]
pub(super) struct Exchange {
    /// The state of a path that is told; `None`: the connection is to be created.
    pub(super) announcement: Option<Announcement>,
    /// The path over which it goes.
    pub(super) carrier: PathId,
    /// The nonce of the peer, once round 2 has arrived.
    pub(super) nonce: Option<u32>,
    sent: u8,
    next: Instant,
}

/// The next step of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Wait.
    Wait,
    /// Send its message.
    Send,
    /// Give up.
    Fail,
}

impl Exchange {
    pub(super) fn new(now: Instant, announcement: Option<Announcement>, carrier: PathId) -> Self {
        Self { announcement, carrier, nonce: None, sent: 0, next: now }
    }

    /// Returns the time at which [`Self::step`] is due.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Goes to round 3.
    pub(super) fn advance(&mut self, now: Instant, nonce: u32) {
        (self.nonce, self.sent, self.next) = (Some(nonce), 0, now);
    }

    /// Returns what is due at `now`; a message that is to be sent counts as sent.
    pub(super) fn step(&mut self, now: Instant) -> Step {
        if now < self.next {
            return Step::Wait;
        }
        if self.sent == TRANSMISSIONS {
            return Step::Fail;
        }
        self.sent += 1;
        self.next = now + WAIT;
        Step::Send
    }
}

/// A creation that we ask for: when next, and over which paths it was not answered.
#[derive(Debug, Default)]
pub(super) struct Wish {
    /// `None`: it is done, or not wanted.
    pub(super) due: Option<Instant>,
    pub(super) tried: Vec<PathId>,
}

impl Wish {
    /// At once, where the configuration says so.
    pub(super) fn of(now: Instant, config: &Config) -> Self {
        let asks = config.create.as_ref().is_some_and(|create| create.ask);
        Self { due: asks.then_some(now), tried: Vec::new() }
    }
}

/// Announcements that wait for their turn, at most one for each path.
#[derive(Debug, Default)]
pub(super) struct Queue(VecDeque<Announcement>);

impl Queue {
    /// The last word on a path counts.
    pub(super) fn push(&mut self, announcement: Announcement) {
        self.0.retain(|other| other.path != announcement.path);
        self.0.push_back(announcement);
    }

    /// Announces the same once more, over another path, unless there is a newer announcement.
    pub(super) fn push_again(&mut self, announcement: Announcement) {
        if !self.0.iter().any(|other| other.path == announcement.path) {
            self.0.push_front(announcement);
        }
    }

    pub(super) fn pop(&mut self) -> Option<Announcement> {
        self.0.pop_front()
    }

    pub(super) fn contains(&self, path: PathId) -> bool {
        self.0.iter().any(|other| other.path == path)
    }

    pub(super) fn retain(&mut self, keep: impl Fn(PathId) -> bool) {
        self.0.retain(|other| keep(other.path));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_sent_six_times_in_three_seconds() {
        let start = Instant::now();
        let mut exchange =
            Exchange::new(start, Some(Announcement::new(PathId::first(1), true)), PathId::first(2));
        let mut sent = Vec::new();
        let failed = loop {
            let now = exchange.next();
            match exchange.step(now) {
                Step::Send => sent.push((now - start).as_millis()),
                Step::Fail => break now - start,
                Step::Wait => unreachable!("it was due"),
            }
        };
        assert_eq!(sent, [0, 500, 1000, 1500, 2000, 2500]);
        assert_eq!(failed, Duration::from_secs(3));
    }

    #[test]
    fn the_last_word_on_a_path_counts() {
        let mut queue = Queue::default();
        queue.push(Announcement::new(PathId::first(1), true));
        queue.push(Announcement::new(PathId::first(2), true));
        queue.push(Announcement::new(PathId::first(1), false));
        queue.push_again(Announcement::new(PathId::first(2), false));
        assert_eq!(queue.pop(), Some(Announcement::new(PathId::first(2), true)));
        assert_eq!(queue.pop(), Some(Announcement::new(PathId::first(1), false)));
        assert_eq!(queue.len(), 0);
    }
}
