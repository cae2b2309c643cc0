//! The model as the checker sees it: both ends, the network between them and the attacker.

use std::collections::BTreeSet;

use stateright::{Model, Property};

use crate::initiator::Initiator;
use crate::responder::{Answers, Responder, Wrong};
use crate::{Address, Initiation, Message, Rules};

/// Bounds on the number of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Messages that the attacker delivers.
    pub replays: u8,
    /// Messages that are lost.
    pub drops: u8,
    /// Handshakes that the initiator begins after the first, to renew its keys.
    pub rekeyings: u8,
    /// Restarts of the responder.
    pub restarts: u8,
    /// Times at which the responder erases all unconfirmed keys, because they are old, and forgets
    /// that its cookies are good.
    pub erasures: u8,
    /// Changes of the initiator's address.
    pub moves: u8,
    /// Timers of the initiator that expire while something is on its way. Others are not counted.
    pub early_timers: u8,
    /// Initiations that the initiator makes, keys and cookies that the responder makes: states with
    /// more of any are not visited.
    pub made: u8,
}

impl Bounds {
    /// Returns the bounds of one handshake, without other events.
    #[must_use]
    pub const fn quiet(made: u8) -> Self {
        Self {
            replays: 0,
            drops: 0,
            rekeyings: 0,
            restarts: 0,
            erasures: 0,
            moves: 0,
            early_timers: 0,
            made,
        }
    }
}

/// The model.
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    /// The rules of the responder.
    pub rules: Rules,
    /// The bounds on events.
    pub bounds: Bounds,
}

/// Ids of initiations of the past: two without a challenge, and one with a challenge of a former life
/// of the responder.
const RECORDED: [Initiation; 3] = [
    Initiation { id: 0, challenge: None },
    Initiation { id: 1, challenge: None },
    Initiation { id: 2, challenge: Some(0) },
];
/// The first id of the initiator in this life.
const FIRST_ID: u8 = RECORDED.len() as u8;
/// The first time of the responder in this life.
const FIRST_TIME: u8 = 1;
/// Challenges and counters are kept as bits.
const MOST: u8 = 30;

/// A state of everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The initiator.
    pub initiator: Initiator,
    /// The responder.
    pub responder: Responder,
    /// Messages on their way: to the responder with the address that they come from, to the initiator
    /// with the address that they go to.
    pub flight: BTreeSet<(Address, Message)>,
    /// Messages that the attacker has heard, as long as it may deliver any.
    pub heard: BTreeSet<Message>,
    /// The events that may still happen.
    pub left: Bounds,
    /// The violation that has happened, if any.
    pub wrong: Option<Wrong>,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A message arrives.
    Deliver(Address, Message),
    /// A message is lost.
    Drop(Address, Message),
    /// The attacker delivers a message that it has heard, from this address.
    Replay(Address, Message),
    /// A timer of the initiator expires.
    Timer,
    /// The initiator begins a handshake.
    Begin,
    /// The initiator sends a frame under its keys.
    Frame,
    /// The responder ends, and another one takes its place.
    Restart,
    /// The responder erases unconfirmed keys and old cookies.
    Erase,
    /// The initiator gets another address.
    Move,
}

impl State {
    /// True if both ends use the same keys, on the path where the initiator is.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.initiator.confirmed
            && self.initiator.attempt.is_none()
            && self.responder.current.map(|keys| keys.id) == self.initiator.keys
            && self.responder.address == self.initiator.address
    }

    /// The steps that the two ends and the network take by themselves.
    pub(crate) fn honest_actions(&self, actions: &mut Vec<Action>) {
        actions.extend(self.flight.iter().map(|&(at, message)| Action::Deliver(at, message)));
        let idle = self.flight.is_empty();
        let initiator = &self.initiator;
        let waits =
            initiator.attempt.is_some() || (initiator.keys.is_some() && !initiator.confirmed);
        // Keys that the responder does not have any more are found out by dead paths.
        let known = self.responder.keys().any(|keys| Some(keys.id) == initiator.keys);
        if idle && initiator.attempt.is_none() && !known {
            actions.push(Action::Begin);
        } else if idle && waits {
            actions.push(Action::Timer);
        } else if idle && self.responder.address != initiator.address {
            actions.push(Action::Frame);
        }
    }

    fn send_to_responder(&mut self, messages: Vec<Message>) {
        for message in messages {
            self.flight.insert((self.initiator.address, message));
            self.hear(message);
        }
    }

    fn send_to_initiator(&mut self, answers: Answers) {
        for (to, message) in answers {
            self.hear(message);
            // At any address but the initiator's there is nobody but the attacker.
            if to == self.initiator.address {
                self.flight.insert((to, message));
            }
        }
    }

    fn hear(&mut self, message: Message) {
        if self.left.replays > 0 {
            self.heard.insert(message);
        }
    }

    fn arrive(&mut self, rules: Rules, at: Address, message: Message) {
        if message.is_for_responder() {
            let (answers, wrong) = self.responder.handle(rules, at, message);
            self.wrong = self.wrong.or(wrong);
            self.send_to_initiator(answers);
        } else if at == self.initiator.address {
            let messages = self.initiator.handle(message);
            self.send_to_responder(messages);
        }
    }

    /// True if nothing was made twice that there is once.
    fn is_unique(&self) -> bool {
        let keys: Vec<_> = self.responder.keys().collect();
        let differ = |i: usize, j: usize| {
            let (a, b) = (keys[i], keys[j]);
            a.id != b.id
                && a.initiation != b.initiation
                && (a.challenge.is_none() || a.challenge != b.challenge)
        };
        (0..keys.len()).all(|i| (0..i).all(|j| differ(i, j)))
    }

    /// True if the keys in use at the responder are keys that the initiator has accepted.
    fn is_genuine(&self) -> bool {
        let current = self.responder.current.iter().chain(&self.responder.previous);
        current.map(|keys| keys.initiation).all(|initiation| initiation >= FIRST_ID)
    }
}

impl Model for Handshake {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let state = |load| {
            let mut state = State {
                initiator: Initiator::new(FIRST_ID),
                responder: Responder::new(load, FIRST_TIME),
                flight: BTreeSet::new(),
                heard: BTreeSet::new(),
                left: self.bounds,
                wrong: None,
            };
            for initiation in RECORDED {
                state.hear(Message::Initiation(initiation, None));
            }
            let messages = state.initiator.begin();
            state.send_to_responder(messages);
            state
        };
        vec![state(false), state(true)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        state.honest_actions(actions);
        let left = state.left;
        if left.drops > 0 {
            actions.extend(state.flight.iter().map(|&(at, message)| Action::Drop(at, message)));
        }
        for &message in &state.heard {
            if message.is_for_responder() {
                actions.extend(Address::ALL.map(|from| Action::Replay(from, message)));
            } else {
                actions.push(Action::Replay(state.initiator.address, message));
            }
        }
        let may_begin = state.initiator.confirmed && state.initiator.attempt.is_none();
        if left.rekeyings > 0 && may_begin {
            actions.push(Action::Begin);
        }
        let waits = state.initiator.attempt.is_some() || !state.initiator.confirmed;
        if left.early_timers > 0 && waits && !state.flight.is_empty() {
            actions.push(Action::Timer);
        }
        let others = [
            (left.restarts, Action::Restart),
            (left.erasures, Action::Erase),
            (left.moves, Action::Move),
        ];
        actions.extend(others.iter().filter(|(left, _)| *left > 0).map(|&(_, action)| action));
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Deliver(at, message) => {
                state.flight.remove(&(at, message));
                state.arrive(self.rules, at, message);
            }
            Action::Drop(at, message) => {
                state.flight.remove(&(at, message));
                state.left.drops -= 1;
            }
            Action::Replay(from, message) => {
                state.left.replays -= 1;
                let message = match message {
                    // At its own address it gets a cookie whenever it likes.
                    Message::Initiation(initiation, _) if from == Address::Attacker => {
                        let last = state.responder.time - 1;
                        let cookie = (last >= state.responder.oldest).then_some((last, from));
                        Message::Initiation(initiation, cookie)
                    }
                    other => other,
                };
                state.arrive(self.rules, from, message);
                if state.left.replays == 0 {
                    state.heard.clear();
                }
            }
            Action::Timer => {
                if !state.flight.is_empty() {
                    state.left.early_timers -= 1;
                }
                let messages = state.initiator.repeat();
                state.send_to_responder(messages);
            }
            Action::Begin => {
                if state.initiator.confirmed && state.left.rekeyings > 0 {
                    state.left.rekeyings -= 1;
                }
                let messages = state.initiator.begin();
                state.send_to_responder(messages);
            }
            Action::Frame => {
                let messages = state.initiator.send_frame();
                state.send_to_responder(messages);
            }
            Action::Restart => {
                state.left.restarts -= 1;
                state.responder.restart();
            }
            Action::Erase => {
                state.left.erasures -= 1;
                state.responder.unconfirmed.clear();
                state.responder.oldest = state.responder.time;
                state.initiator.cookie = None;
            }
            Action::Move => {
                state.left.moves -= 1;
                state.initiator.address = Address::Away;
                state.initiator.cookie = None;
            }
        }
        Some(state).filter(|state| state != before)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a recorded handshake changes nothing", |_, state: &State| {
                state.wrong != Some(Wrong::Displaced) && state.is_genuine()
            }),
            Property::always("a challenged handshake is never refused", |_, state: &State| {
                state.wrong != Some(Wrong::Refused)
            }),
            Property::always("sessions are unique", |_, state: &State| state.is_unique()),
            Property::always(
                "an unproved address never displaces a proved one",
                |_, state: &State| {
                    let address = state.responder.address;
                    address == Address::Home || state.responder.proved.contains(&address)
                },
            ),
            Property::always(
                "where nothing more happens the session stands",
                |_, state: &State| {
                    let mut actions = Vec::new();
                    state.honest_actions(&mut actions);
                    !actions.is_empty() || state.is_established()
                },
            ),
            Property::sometimes("keys are renewed", |_, state: &State| {
                state.is_established() && state.responder.previous.is_some()
            }),
        ]
    }

    fn within_boundary(&self, state: &State) -> bool {
        let most = self.bounds.made.min(MOST);
        state.initiator.next_id - FIRST_ID <= most
            && state.responder.next_keys <= most
            && state.responder.time - FIRST_TIME <= most
            && state.initiator.counter <= most
    }
}
