//! The events of a node: what the owner of the sockets has to follow, and what others have to
//! decide.

use super::Node;
use crate::{PathId, Transition, compat, session};

/// An event of a path. The owner of the sockets follows it at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathEvent {
    /// The session of the path found out something about it.
    Session(session::PathEvent),
    /// A prototype was heard on the path, fell silent, or reported the state of the path.
    Prototype(PathId),
    /// The state of the path for sending has changed, whatever made the change: the administrator,
    /// the system, or the peer.
    State(Transition),
}

/// An event for others to know or to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An event of a session.
    Session(session::Event),
    /// An event of a connection with a prototype at the other end.
    Prototype(compat::Event),
}

impl<P: Copy> Node<P> {
    /// Takes the next event of a path. A path that left a state and returned to it since the last
    /// call has not changed.
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

    /// Takes the next event: first those of sessions and of connections with prototypes, then
    /// requests of peers. Events may wait here, within bounds, until the owner has time for them.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.follow_changes();
        let event = self.prototypes.poll_event().map(Event::Prototype);
        event.or_else(|| self.sessions.poll_event().map(Event::Session))
    }

    /// Returns true if [`Self::poll_event`] would return an event.
    #[must_use]
    pub fn has_events(&self) -> bool {
        self.prototypes.has_events() || self.sessions.has_events()
    }
}
