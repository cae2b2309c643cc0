//! Changes of the states of paths, in the words of the log.

use mpt_api::PathState;
use mpt_core::{DownReason, DownReasons, Transition};

use super::snapshot;
use crate::data::system::System;
use crate::data::{DataPath, Notice};

impl<S: System> DataPath<S> {
    /// Passes on a change of a path's state, whatever made it.
    pub(in crate::data) fn tell_state(&mut self, transition: Transition) {
        let Transition { path, from, to, lasted } = transition;
        let Some((connection, path)) = self.names(path) else { return };
        self.notify(Notice::PathState {
            connection,
            path,
            from: from.map(snapshot::path_state),
            to: snapshot::path_state(to),
            reason: reason(from, to),
            lasted,
        });
    }
}

/// Returns why a path is down, or else what brought it up.
fn reason(from: Option<DownReasons>, to: DownReasons) -> &'static str {
    if let Some(reason) = snapshot::down_reason(to) {
        return reason.into();
    }
    match from.and_then(DownReasons::first) {
        None => "created",
        Some(DownReason::Dead | DownReason::Unproven) => "confirmed",
        Some(DownReason::Administrative) => "administrative",
        Some(DownReason::Unresolved) => "resolved",
        Some(DownReason::Interface) => "interface",
        Some(DownReason::Peer) => "peer",
        Some(DownReason::Cap) => "cap",
    }
}

/// Returns the word of a state before, for the log.
pub(crate) fn former(state: Option<PathState>) -> &'static str {
    state.map_or("new", Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_that_of_the_state_or_of_its_end() {
        let dead = DownReasons::NONE.with(DownReason::Dead, true);
        let both = dead.with(DownReason::Interface, true);
        assert_eq!(reason(None, DownReasons::NONE), "created");
        assert_eq!(reason(None, dead), "dead");
        assert_eq!(reason(Some(dead), both), "interface");
        assert_eq!(reason(Some(dead), DownReasons::NONE), "confirmed");
        assert_eq!(reason(Some(both), DownReasons::NONE), "interface");
    }
}
