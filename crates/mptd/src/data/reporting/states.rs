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
        if from.is_some_and(|from| words(from) == words(to)) {
            return;
        }
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

/// Returns what is said of a path: its state, and the reason that is named. A path may be down for several reasons, and
/// a further one does not change what is said.
fn words(reasons: DownReasons) -> (PathState, Option<mpt_api::DownReason>) {
    (snapshot::path_state(reasons), snapshot::down_reason(reasons))
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

    #[test]
    fn a_further_reason_is_told_only_if_it_is_the_one_that_is_named() {
        let interface = DownReasons::NONE.with(DownReason::Interface, true);
        assert_eq!(words(interface), words(interface.with(DownReason::Dead, true)));
        assert_ne!(words(interface), words(interface.with(DownReason::Administrative, true)));
        let unproven = DownReasons::NONE.with(DownReason::Unproven, true);
        assert_ne!(words(unproven), words(unproven.with(DownReason::Dead, true)));
    }
}
