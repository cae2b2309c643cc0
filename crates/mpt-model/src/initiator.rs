//! The initiator: section 11.2 of docs/protocol.md.

use crate::{Address, Initiation, Message};

/// A handshake that the initiator has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// The present initiation.
    pub present: Initiation,
    /// The initiation before, whose response is still accepted.
    pub older: Option<u8>,
    /// The challenge for the next initiation: the responder has refused the present one.
    pub refused: Option<u8>,
}

/// The initiator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Initiator {
    /// Its address.
    pub address: Address,
    /// The handshake that it has begun.
    pub attempt: Option<Attempt>,
    /// The cookie of its path: time and the address it is bound to.
    pub cookie: Option<(u8, Address)>,
    /// The keys that it has agreed last.
    pub keys: Option<u8>,
    /// True if a frame has come under them.
    pub confirmed: bool,
    /// The counter of its next frame.
    pub counter: u8,
    /// The id of its next initiation.
    pub next_id: u8,
}

impl Initiator {
    /// An initiator without keys. Its initiations are numbered from `first_id` on.
    pub(crate) fn new(first_id: u8) -> Self {
        Self {
            address: Address::Home,
            attempt: None,
            cookie: None,
            keys: None,
            confirmed: false,
            counter: 0,
            next_id: first_id,
        }
    }

    /// Begins a handshake.
    pub(crate) fn begin(&mut self) -> Vec<Message> {
        self.make_initiation(None);
        self.initiation().into_iter().collect()
    }

    /// Does what is due when a timer has expired.
    pub(crate) fn repeat(&mut self) -> Vec<Message> {
        if let Some(attempt) = &mut self.attempt {
            if let Some(challenge) = attempt.refused.take() {
                self.make_initiation(Some(challenge));
            }
            return self.initiation().into_iter().collect();
        }
        self.confirmation().into_iter().collect()
    }

    /// Handles a message.
    pub(crate) fn handle(&mut self, message: Message) -> Vec<Message> {
        match message {
            Message::Response { id, keys } => {
                let expected =
                    self.attempt.is_some_and(|it| it.present.id == id || it.older == Some(id));
                if !expected {
                    return Vec::new();
                }
                self.attempt = None;
                (self.keys, self.confirmed) = (Some(keys), false);
                self.confirmation().into_iter().collect()
            }
            Message::Cookie { id, time, address } => self.handle_cookie(id, time, address),
            Message::Reply { keys } => {
                self.confirmed |= self.keys == Some(keys);
                Vec::new()
            }
            Message::Probe { token } => vec![Message::Echo { token }],
            _ => Vec::new(),
        }
    }

    fn handle_cookie(&mut self, id: u8, time: u8, address: Address) -> Vec<Message> {
        let Some(attempt) = &mut self.attempt else { return Vec::new() };
        let is_present = attempt.present.id == id;
        if !is_present && attempt.older != Some(id) {
            return Vec::new();
        }
        let first = self.cookie.replace((time, address)).is_none();
        if attempt.present.challenge.is_none() {
            self.make_initiation(Some(time));
            return self.initiation().into_iter().collect();
        }
        if first {
            return self.initiation().into_iter().collect();
        }
        if is_present {
            attempt.refused = Some(time);
        }
        Vec::new()
    }

    fn make_initiation(&mut self, challenge: Option<u8>) {
        let older = self.attempt.map(|attempt| attempt.present.id);
        let present = Initiation { id: self.next_id, challenge };
        self.next_id += 1;
        self.attempt = Some(Attempt { present, older, refused: None });
    }

    fn initiation(&self) -> Option<Message> {
        self.attempt.map(|attempt| Message::Initiation(attempt.present, self.cookie))
    }

    /// A frame under the keys that it has agreed last.
    fn confirmation(&mut self) -> Option<Message> {
        let keys = self.keys?;
        self.counter += 1;
        Some(Message::Confirmation { keys, counter: self.counter })
    }

    /// Sends another frame, as there are some whenever the path is probed.
    pub(crate) fn send_frame(&mut self) -> Vec<Message> {
        self.confirmation().into_iter().collect()
    }
}
