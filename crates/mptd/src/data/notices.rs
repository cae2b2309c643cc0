//! What waits for the control side: the latest state of each thing, so that it stays small however long nobody asks.
//!
//! The data thread only says that there is something; the control side takes as much at a time as it likes. What happened to sessions, and
//! what their peers ask, waits in the engine, which bounds it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mpt_core::node::Event;
use tokio::sync::Notify;

use super::system::System;
use super::{DataPath, Notice};

/// Changes of paths' states that wait to be logged, at most: each is a line of its own, so a later one does not replace it. Beyond this the oldest
/// go.
const MAX_STATES: usize = 4096;

/// What the control side is to be told: one entry for each state of each thing, at most two per device and four per path, and at most [`MAX_STATES`]
/// changes of paths' states.
#[derive(Debug)]
pub(super) struct Notices {
    waiting: BTreeMap<Thing, Notice>,
    /// Changes of paths' states, oldest first.
    states: VecDeque<Notice>,
    /// Wakes the control side.
    wake: Arc<Notify>,
    /// It was woken and has not asked yet.
    woken: bool,
}

/// What a notice is about: a later one of the same thing replaces it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Mtu(String),
    PathMtu(String, String),
    PathMtuReported(String, String),
    Device(String),
    Path(String, String),
    Address(String, String),
}

impl Notices {
    /// Nothing waits. `wake` is notified whenever something does.
    pub(super) fn new(wake: Arc<Notify>) -> Self {
        Self { waiting: BTreeMap::new(), states: VecDeque::new(), wake, woken: false }
    }

    /// Puts a notice in place of the one before about the same.
    pub(super) fn put(&mut self, notice: Notice) {
        let thing = match &notice {
            Notice::DeviceMtu { device, .. } => Thing::Mtu(device.clone()),
            Notice::DeviceGone { device } => Thing::Device(device.clone()),
            Notice::PathChanged { connection, path } => {
                Thing::Path(connection.clone(), path.clone())
            }
            Notice::PathMtu { connection, path, .. } => {
                Thing::PathMtu(connection.clone(), path.clone())
            }
            Notice::PathMoved { connection, path, .. } => {
                Thing::Address(connection.clone(), path.clone())
            }
            Notice::PathState { .. } => {
                if self.states.len() == MAX_STATES {
                    self.states.pop_front();
                }
                self.states.push_back(notice);
                return self.wake();
            }
            Notice::PathMtuReported { connection, path, .. } => {
                Thing::PathMtuReported(connection.clone(), path.clone())
            }
            // They wait in the engine.
            Notice::Session { .. } | Notice::Prototype { .. } => return,
        };
        self.waiting.insert(thing, notice);
        self.wake();
    }

    /// Takes what is next.
    fn next(&mut self) -> Option<Notice> {
        let state = self.states.pop_front();
        state.or_else(|| self.waiting.pop_first().map(|(_, notice)| notice))
    }

    /// Has the control side ask, unless it is about to.
    pub(super) fn wake(&mut self) {
        if !std::mem::replace(&mut self.woken, true) {
            self.wake.notify_one();
        }
    }
}

impl<S: System> DataPath<S> {
    /// Takes at most `most` notices. The control side is woken again if there are more.
    pub(crate) fn take_notices(&mut self, most: usize) -> Vec<Notice> {
        self.notices.woken = false;
        let mut taken = Vec::new();
        while taken.len() < most {
            match self.notices.next().or_else(|| self.next_event_notice()) {
                Some(notice) => taken.push(notice),
                None => break,
            }
        }
        if taken.len() == most {
            self.notices.wake();
        }
        taken
    }

    /// Takes what happened to a session or a prototype's connection next, or what a peer asks.
    fn next_event_notice(&mut self) -> Option<Notice> {
        Some(match self.node.poll_event()? {
            Event::Session(event) => {
                let connection = self.connection_of(&event);
                Notice::Session { event, connection }
            }
            Event::Prototype(event) => Notice::Prototype { event },
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_the_latest_state_of_each_thing_waits() {
        let wake = Arc::new(Notify::new());
        let mut notices = Notices::new(Arc::clone(&wake));
        for n in 0..100_000_u32 {
            let (connection, path) = ("office".to_owned(), format!("line{}", n % 3));
            notices.put(Notice::PathChanged { connection: connection.clone(), path: path.clone() });
            let remote = ([192, 0, 2, (n % 200) as u8], 4754).into();
            notices.put(Notice::PathMoved { connection, path, remote });
            notices.put(Notice::DeviceMtu { device: "mpt0".into(), mtu: 1280 + (n % 100) as u16 });
        }
        assert_eq!(notices.waiting.len(), 7);
        let latest = Notice::DeviceMtu { device: "mpt0".into(), mtu: 1379 };
        assert_eq!(notices.next(), Some(latest));
    }

    #[test]
    fn every_change_of_a_state_waits_up_to_a_bound() {
        let mut notices = Notices::new(Arc::new(Notify::new()));
        for n in 0..=MAX_STATES as u64 {
            notices.put(Notice::PathState {
                connection: "office".into(),
                path: "line1".into(),
                from: None,
                to: mpt_api::PathState::Up,
                reason: "new",
                lasted: Duration::from_secs(n),
            });
        }
        assert_eq!(notices.states.len(), MAX_STATES);
        let first = notices.next();
        assert!(matches!(first, Some(Notice::PathState { lasted, .. }) if lasted.as_secs() == 1));
    }
}
