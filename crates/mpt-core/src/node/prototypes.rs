//! Connections whose other end is the papers' prototype.

use std::time::Instant;

use super::{Node, PathEvent};
use crate::PathId;
use crate::compat::{self, Config};
use crate::path::DownReason;

impl<P: Copy> Node<P> {
    /// Makes the connections to prototypes those of the list. Connections that remain keep their
    /// state.
    pub fn set_prototypes(&mut self, now: Instant, configs: Vec<Config>) {
        if !(configs.is_empty() && self.prototypes.is_empty()) {
            self.prototypes.set_connections(now, configs);
            self.follow_prototypes(now);
        }
    }

    /// Applies what prototypes report of their paths to what is sent and received there.
    pub(super) fn follow_prototypes(&mut self, now: Instant) {
        while let Some(compat::PathEvent { path, silent, told_down }) =
            self.prototypes.poll_path_event()
        {
            self.set_path_state(now, path, DownReason::Dead, silent);
            self.set_path_state(now, path, DownReason::Peer, told_down);
            self.tunnels.set_path_silent(now, path, silent);
            self.path_events.push_back(PathEvent::Prototype(path));
        }
    }

    /// Informs the prototype's protocol whether a path can be used from here.
    pub(super) fn tell_prototype(&mut self, now: Instant, id: PathId) {
        if self.prototypes.is_empty() {
            return;
        }
        let usable = self.is_usable(id);
        self.prototypes.set_usable(now, id, usable);
        self.follow_prototypes(now);
    }

    /// Returns true if administrator and interface let a path be used.
    #[must_use]
    pub fn is_usable(&self, id: PathId) -> bool {
        let ours = [DownReason::Administrative, DownReason::Cap, DownReason::Interface];
        let path = self.tunnels.path(id);
        path.is_some_and(|path| !ours.iter().any(|&reason| path.down_reasons().contains(reason)))
    }
}
