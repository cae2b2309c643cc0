//! The state of the measurement that runs, and its requests to the peer.

use std::collections::BTreeMap;

use mpt_core::session::{RequestFailed, SessionId};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::turns::TestTurns;
use crate::control::command::Command;

/// The most requests to the peer that wait to be sent: a measurement makes one at a time.
pub(super) const ASKS: usize = 4;

/// The peer's answer to a request, or why there is none.
pub(in crate::daemon) type Reply = Result<Vec<u8>, RequestFailed>;

/// A request to the peer of a session.
#[derive(Debug)]
pub(in crate::daemon) struct Ask {
    pub(in crate::daemon) session: SessionId,
    pub(in crate::daemon) body: Vec<u8>,
    pub(in crate::daemon) reply: oneshot::Sender<Reply>,
}

/// The measurement that runs, if any does.
#[derive(Debug)]
pub(in crate::daemon) struct Measure {
    pub(in crate::daemon) commands: mpsc::Sender<Command>,
    pub(in crate::daemon) asks: mpsc::Sender<Ask>,
    /// The requests that the peer has not answered yet.
    pub(in crate::daemon) asked: BTreeMap<(SessionId, u32), oneshot::Sender<Reply>>,
    pub(in crate::daemon) task: Option<JoinHandle<()>>,
    /// The turns of the peers that want a test of their own.
    pub(super) turns: TestTurns,
    /// The number of our next test.
    pub(in crate::daemon) next: u32,
}

impl Measure {
    /// Returns the state without a measurement, and the queue of requests with which [`Daemon::ask_peer`] is to be called. `commands` is the queue of
    /// the daemon.
    pub(in crate::daemon) fn new(commands: mpsc::Sender<Command>) -> (Self, mpsc::Receiver<Ask>) {
        let (asks, asked) = mpsc::channel(ASKS);
        let turns = TestTurns::default();
        (Self { commands, asks, asked: BTreeMap::new(), task: None, turns, next: 0 }, asked)
    }

    pub(super) fn is_running(&self) -> bool {
        self.task.as_ref().is_some_and(|task| !task.is_finished())
    }

    /// Passes on an answer of the peer, or returns it if it answers no request of a measurement.
    pub(in crate::daemon) fn answered(
        &mut self,
        session: SessionId,
        id: u32,
        reply: Reply,
    ) -> Option<Reply> {
        match self.asked.remove(&(session, id)) {
            Some(waiting) => {
                // The measurement may have been given up.
                let _ = waiting.send(reply);
                None
            }
            None => Some(reply),
        }
    }
}
