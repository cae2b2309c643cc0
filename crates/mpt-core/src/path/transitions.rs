//! Changes of the paths' states, noticed where every one of them passes.

use std::time::{Duration, Instant};

use super::DownReasons;
use crate::PathId;

/// A change of a path's state: it is up, or another reason is the one to name, see [`DownReason::ALL`](super::DownReason::ALL).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The path.
    pub path: PathId,
    /// The reasons for which it was down before, empty if it was up; `None` for a path that is new.
    pub from: Option<DownReasons>,
    /// The reasons for which it is down now, empty if it is up.
    pub to: DownReasons,
    /// The duration of the former state; zero for a new path.
    pub lasted: Duration,
}

/// The state of each path as it was last reported, and the paths whose state may have changed since.
#[derive(Debug, Default)]
pub(crate) struct Transitions {
    /// By [`PathId::index`].
    seen: Vec<Option<Seen>>,
    /// The indices of paths to be looked at, each at most once: no more than there are paths.
    pending: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    path: PathId,
    /// `None` until the path was first reported.
    state: Option<DownReasons>,
    /// The time at which this state began.
    since: Instant,
    /// The time at which the state changed last.
    changed: Instant,
    /// True if the path is among the pending ones.
    pending: bool,
}

impl Transitions {
    /// A path came into being.
    pub(crate) fn begin(&mut self, now: Instant, path: PathId) {
        let index = path.index();
        if self.seen.len() <= index {
            self.seen.resize(index + 1, None);
        }
        let pending = self.seen[index].is_some_and(|before| before.pending);
        self.seen[index] = Some(Seen { path, state: None, since: now, changed: now, pending });
        self.note(now, path);
    }

    /// The state of a path changed.
    pub(crate) fn note(&mut self, now: Instant, path: PathId) {
        let Some(Some(seen)) = self.seen.get_mut(path.index()) else { return };
        seen.changed = now;
        if !seen.pending {
            seen.pending = true;
            self.pending.push(path.index());
        }
    }

    /// Gives the next change; `state` says how a path is now, `None` when it is gone.
    pub(crate) fn take(
        &mut self,
        state: impl Fn(PathId) -> Option<DownReasons>,
    ) -> Option<Transition> {
        while let Some(index) = self.pending.pop() {
            let Some(Some(seen)) = self.seen.get_mut(index) else { continue };
            let path = seen.path;
            seen.pending = false;
            let Some(to) = state(path) else { continue };
            let from = seen.state.replace(to);
            // As long as the reason that is named holds, the others make no difference.
            if from.is_some_and(|from| from.first() == to.first()) {
                continue;
            }
            let lasted = seen.changed.saturating_duration_since(seen.since);
            seen.since = seen.changed;
            return Some(Transition { path, from, to, lasted });
        }
        None
    }
}
