//! Notices of the data thread to the control side, and those of them that wait.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mpt_core::session;
use tokio::sync::Notify;

/// A notice of the data thread to the control side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The inner MTU of a device changed, because the network lowered that of a path.
    DeviceMtu {
        /// The device's name.
        device: String,
        /// The MTU in bytes.
        mtu: u16,
    },
    /// A path's state changed, or its first one is known; for the log.
    PathState {
        /// Name of its connection.
        connection: String,
        /// Its name.
        path: String,
        /// Its state before; `None` when it is new.
        from: Option<mpt_api::PathState>,
        /// Its state now.
        to: mpt_api::PathState,
        /// The reason why it is down, or the cause that brought it up.
        reason: &'static str,
        /// The time for which the state before lasted.
        lasted: Duration,
    },
    /// A path changed by what its session found.
    PathChanged {
        /// Name of its connection.
        connection: String,
        /// Its name.
        path: String,
    },
    /// Probes found another path MTU; for the log.
    PathMtu {
        /// Name of its connection.
        connection: String,
        /// Its name.
        path: String,
        /// The path MTU in bytes that it was used with.
        before: u16,
        /// The path MTU in bytes that it carries.
        found: u16,
    },
    /// ICMP lowered the path MTU of a path that no probes measure, or that report has expired; for the log.
    PathMtuReported {
        /// Name of its connection.
        connection: String,
        /// Its name.
        path: String,
        /// The path MTU in bytes that ICMP reported, unless that is over.
        reported: Option<u16>,
    },
    /// The peer is at another address on a path.
    PathMoved {
        /// Name of its connection.
        connection: String,
        /// Its name.
        path: String,
        /// The present address of the peer.
        remote: SocketAddr,
    },
    /// Something happened to a session.
    Session {
        /// The event.
        event: session::Event,
        /// Name of its connection, if it has one.
        connection: Option<String>,
    },
    /// A command of ours or of a prototype was carried out or refused.
    Prototype {
        /// The command, and what came of it.
        event: mpt_core::compat::Event,
    },
    /// A device was removed from the system by somebody else.
    DeviceGone {
        /// The device's name.
        device: String,
    },
}

/// Changes of paths' states that wait to be logged, at most: each is a line of its own, so a later one does not replace it. Beyond this the oldest
/// go.
const MAX_STATES: usize = 4096;

/// The notices that wait: one entry for each state of each thing, at most two per device and four per path, and at most [`MAX_STATES`]
/// changes of paths' states.
#[derive(Debug)]
pub(in crate::data) struct Notices {
    waiting: BTreeMap<Thing, Notice>,
    /// Changes of paths' states, oldest first.
    states: VecDeque<Notice>,
    /// Wakes the control side.
    wake: Arc<Notify>,
    /// True if it was woken and has not asked yet.
    pub(super) woken: bool,
}

/// The subject of a notice: a later one about the same thing replaces it.
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
    /// Returns an empty set of notices. `wake` is notified whenever a notice waits.
    pub(in crate::data) fn new(wake: Arc<Notify>) -> Self {
        Self { waiting: BTreeMap::new(), states: VecDeque::new(), wake, woken: false }
    }

    /// Puts a notice in place of the one before about the same.
    pub(in crate::data) fn put(&mut self, notice: Notice) {
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
    pub(in crate::data) fn next(&mut self) -> Option<Notice> {
        let state = self.states.pop_front();
        state.or_else(|| self.waiting.pop_first().map(|(_, notice)| notice))
    }

    /// Wakes the control side, unless it is about to ask.
    pub(in crate::data) fn wake(&mut self) {
        if !std::mem::replace(&mut self.woken, true) {
            self.wake.notify_one();
        }
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
