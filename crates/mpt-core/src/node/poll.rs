//! The way of events out of a node.

use super::Node;
use super::event::{Event, PathEvent};

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
