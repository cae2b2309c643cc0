//! What has happened, for those who have sockets to follow it and those who have decisions to take.

use super::Node;
use crate::{PathId, Transition, compat, session};

/// Something happened to a path. Whoever has the sockets follows it at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathEvent {
    /// Its session found out something about it.
    Session(session::PathEvent),
    /// A prototype was heard on it, fell silent, or said how it is.
    Prototype(PathId),
    /// Its state for what is sent is another one, whatever made the change: the administrator, the
    /// system, or its peer.
    State(Transition),
}

/// Something happened that is for others to know or to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// To a session.
    Session(session::Event),
    /// To a connection with a prototype at the other end.
    Prototype(compat::Event),
}

impl<P: Copy> Node<P> {
    /// What has happened to a path. A path that left a state and returned to it since the last call
    /// has not changed.
    pub fn poll_path_event(&mut self) -> Option<PathEvent> {
        self.follow_changes();
        if let Some(event) = self.path_events.pop_front() {
            return Some(event);
        }
        if let Some(event) = self.sessions.poll_path_event() {
            return Some(PathEvent::Session(event));
        }
        self.tunnels.take_transition().map(PathEvent::State)
    }

    /// What has happened to sessions and to connections with prototypes, then what peers ask for. It
    /// may wait here, within bounds, until somebody has time for it.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.follow_changes();
        let event = self.prototypes.poll_event().map(Event::Prototype);
        event.or_else(|| self.sessions.poll_event().map(Event::Session))
    }

    /// Returns whether [`Self::poll_event`] would give something.
    #[must_use]
    pub fn has_events(&self) -> bool {
        self.prototypes.has_events() || self.sessions.has_events()
    }
}
