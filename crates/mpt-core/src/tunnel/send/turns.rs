//! The turns that connections take.

use std::collections::VecDeque;

use crate::ConnectionId;

/// Connections in turns, each at most once.
#[derive(Debug, Default)]
pub(in crate::tunnel) struct Turns {
    waiting: VecDeque<ConnectionId>,
}

impl Turns {
    /// Gives a connection a turn, behind those that wait.
    pub(in crate::tunnel) fn insert(&mut self, id: ConnectionId) {
        if !self.waiting.contains(&id) {
            self.waiting.push_back(id);
        }
    }

    /// Takes the connection whose turn it is.
    #[inline]
    pub(in crate::tunnel) fn next(&mut self) -> Option<ConnectionId> {
        self.waiting.pop_front()
    }

    /// Gives the connection that had its turn another one, behind those that wait.
    #[inline]
    pub(super) fn again(&mut self, id: ConnectionId) {
        self.waiting.push_back(id);
    }
}
