//! The responder: sections 11.3, 12 and 18 of docs/protocol.md.

use mpt_core::session::{Decision, decide};

use crate::{Address, Initiation, Message};

/// The rules of the responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rules {
    /// The rules of the document.
    Document,
    /// The admission of version 1: every initiation gets keys, and the oldest go if there are more than this many unconfirmed ones.
    OldestGoes(usize),
    /// An address is followed as soon as a fresh frame comes from there.
    FollowUnproved,
    /// A copy of an initiation gets keys of its own.
    AnswerCopiesAnew,
    /// Under load an initiation without MAC 2 is dropped, and no cookie is sent.
    SilentUnderLoad,
}

/// The keys of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Keys {
    /// Names them.
    pub id: u8,
    /// The initiation that they answer.
    pub initiation: u8,
    /// The challenge that it has shown, if it was good.
    pub challenge: Option<u8>,
}

/// A change by an initiation that must not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wrong {
    /// An unchallenged initiation has removed keys.
    Displaced,
    /// An initiation with a good challenge got no keys.
    Refused,
}

/// The responder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Responder {
    /// Unconfirmed keys, the oldest first.
    pub unconfirmed: Vec<Keys>,
    /// The present keys.
    pub current: Option<Keys>,
    /// The keys before.
    pub previous: Option<Keys>,
    /// The latest challenge that was answered.
    pub answered: u8,
    /// The challenges that were used up, as bits.
    pub used: u32,
    /// The time of the next cookie.
    pub time: u8,
    /// Cookies from this time on are good.
    pub oldest: u8,
    /// The number of the next keys.
    pub next_keys: u8,
    /// True if MAC 2 is demanded.
    pub load: bool,
    /// The frames that have come, as bits by their counter.
    pub seen: u32,
    /// The address to which the initiator's path leads.
    pub address: Address,
    /// The address that has been sent a probe.
    pub candidate: Option<(u8, Address)>,
    /// Addresses that have answered a probe that was sent there.
    pub proved: Vec<Address>,
    next_token: u8,
}

/// Answers, with the addresses that they go to.
pub(crate) type Answers = Vec<(Address, Message)>;

impl Responder {
    pub(crate) fn new(load: bool, time: u8) -> Self {
        Self {
            unconfirmed: Vec::new(),
            current: None,
            previous: None,
            answered: 0,
            used: 0,
            time,
            oldest: time,
            next_keys: 0,
            load,
            seen: 0,
            address: Address::Home,
            candidate: None,
            proved: Vec::new(),
            next_token: 0,
        }
    }

    /// Restarts the responder: nothing is remembered, and cookies from before are worth nothing. Its path goes where it is configured to go.
    pub(crate) fn restart(&mut self) {
        let fresh = Self::new(self.load, self.time);
        let (next_keys, next_token) = (self.next_keys, self.next_token);
        *self = Self { next_keys, next_token, seen: self.seen, ..fresh };
    }

    /// Returns all keys: those in use, those before and those unconfirmed.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Keys> {
        [&self.current, &self.previous].into_iter().flatten().chain(&self.unconfirmed)
    }

    /// Handles a message. Says what was wrong about it.
    pub(crate) fn handle(
        &mut self,
        rules: Rules,
        from: Address,
        message: Message,
    ) -> (Answers, Option<Wrong>) {
        match message {
            Message::Initiation(initiation, cookie) => {
                self.handle_initiation(rules, from, initiation, cookie)
            }
            Message::Confirmation { keys, counter } => {
                (self.handle_frame(rules, from, keys, counter), None)
            }
            Message::Echo { token } => {
                if self.candidate == Some((token, from)) {
                    self.candidate = None;
                    self.proved.push(from);
                    self.proved.sort_unstable();
                    self.proved.dedup();
                    self.address = from;
                }
                (Vec::new(), None)
            }
            _ => (Vec::new(), None),
        }
    }

    fn handle_initiation(
        &mut self,
        rules: Rules,
        from: Address,
        initiation: Initiation,
        cookie: Option<(u8, Address)>,
    ) -> (Answers, Option<Wrong>) {
        let Initiation { id, challenge } = initiation;
        if let Some(keys) = self.keys().find(|keys| keys.initiation == id)
            && rules != Rules::AnswerCopiesAnew
        {
            return (vec![(from, Message::Response { id, keys: keys.id })], None);
        }
        let has_mac2 = cookie.is_some_and(|(time, of)| of == from && self.is_recent(time));
        if self.load && !has_mac2 {
            if rules == Rules::SilentUnderLoad {
                return (Vec::new(), None);
            }
            return (vec![(from, self.cookie(id, from))], None);
        }
        let is_used = |time: u8| self.used & 1 << time != 0;
        let shown = challenge.filter(|&time| self.is_recent(time) && !is_used(time));
        let before = self.unconfirmed.clone();
        let decision = match rules {
            Rules::OldestGoes(most) => {
                Decision::Answer { evict: (before.len() >= most).then_some(0) }
            }
            _ => decide(self.times(), false, Some(self.answered.into()), shown.map(u64::from)),
        };
        let newest = shown.filter(|&time| time > self.answered);
        let Decision::Answer { evict } = decision else {
            let wrong = newest.map(|_| Wrong::Refused);
            return (vec![(from, self.cookie(id, from))], wrong);
        };
        if let Some(evict) = evict {
            self.unconfirmed.remove(evict);
        }
        if let Some(time) = shown {
            self.answered = self.answered.max(time);
            self.used |= 1 << time;
        }
        let keys = Keys { id: self.next_keys, initiation: id, challenge: shown };
        self.next_keys += 1;
        let lost = before.iter().any(|keys| !self.unconfirmed.contains(keys));
        let wrong = (lost && newest.is_none()).then_some(Wrong::Displaced);
        self.unconfirmed.push(keys);
        (vec![(from, Message::Response { id, keys: keys.id })], wrong)
    }

    fn times(&self) -> impl Iterator<Item = Option<u64>> + Clone {
        self.unconfirmed.iter().map(|keys| keys.challenge.map(u64::from))
    }

    fn is_recent(&self, time: u8) -> bool {
        (self.oldest..self.time).contains(&time)
    }

    fn cookie(&mut self, id: u8, address: Address) -> Message {
        let time = self.time;
        self.time += 1;
        Message::Cookie { id, time, address }
    }

    /// A frame under keys that only the initiator has.
    fn handle_frame(&mut self, rules: Rules, from: Address, keys: u8, counter: u8) -> Answers {
        if !self.keys().any(|known| known.id == keys) || self.seen & 1 << counter != 0 {
            return Vec::new();
        }
        let is_fresh = self.seen >> counter == 0;
        self.seen |= 1 << counter;
        if let Some(place) = self.unconfirmed.iter().position(|known| known.id == keys) {
            let confirmed = self.unconfirmed.drain(..=place).next_back();
            self.previous = std::mem::replace(&mut self.current, confirmed);
        }
        let mut answers = vec![(from, Message::Reply { keys })];
        if is_fresh && from != self.address {
            if rules == Rules::FollowUnproved {
                self.address = from;
            } else {
                self.candidate = Some((self.next_token, from));
                answers.push((from, Message::Probe { token: self.next_token }));
                self.next_token += 1;
            }
        }
        answers
    }
}
