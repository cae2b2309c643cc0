//! The events of paths for monitors: each change is one event, however many parts of the daemon notice it.
//!
//! A path that is taken down by hand is one change, and three parts of the daemon notice it: the command, the session, which suspends
//! the path's probes, and the session again when the peer's last frames on it have arrived.

use mpt_api::EventKind;
use mpt_core::DownReason;

use super::snapshot::{down_reason, path_state};
use crate::data::DataPath;
use crate::data::system::System;

impl<S: System> DataPath<S> {
    /// Returns how a path is now; `None` if this is what was returned for it last, or while it does not exist.
    pub(crate) fn take_path_event(&mut self, connection: &str, path: &str) -> Option<EventKind> {
        let id = self.find_path(connection, path).ok()?;
        let state = self.node.tunnels().path(id)?;
        let event = EventKind::PathChanged {
            connection: connection.to_owned(),
            path: path.to_owned(),
            state: path_state(state.down_reasons()),
            down: down_reason(state.down_reasons()),
            weight: state.config().weight_out,
            weight_in: state.config().weight_in,
            tier: state.config().tier,
            max_rate: state.config().rates.greatest(),
            min_rate: state.config().rates.least(),
            mtu: state.mtu(),
        };
        let told = &mut self.paths.get_mut(id)?.told;
        if told.as_ref() == Some(&event) {
            return None;
        }
        *told = Some(event.clone());
        Some(event)
    }

    /// Returns true if a path is down only because the peer does not confirm it.
    pub(crate) fn is_unconfirmed(&self, connection: &str, path: &str) -> bool {
        let id = self.find_path(connection, path).ok();
        let path = id.and_then(|id| self.node.tunnels().path(id));
        let reason = path.and_then(|path| path.down_reasons().first());
        matches!(reason, Some(DownReason::Dead | DownReason::Unproven))
    }
}
