//! The paths of a session: their names, and their turns.

use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use super::path::SessionPath;
use super::turns::Turns;
use crate::PathId;
use crate::session::engine::SessionPathId;
use crate::session::engine::keys::epochs::Epoch;

/// The paths of a session, as a slice of them.
#[derive(Debug)]
pub(crate) struct Paths {
    all: Vec<SessionPath>,
    next_id: SessionPathId,
    /// The time at which a path was last up, or the session began.
    last_up: Instant,
    /// The turns of paths for a frame that may take any.
    frames: Turns,
    /// The turns of paths in reports.
    reports: Turns,
    /// The clock of the peer by which its frames were stamped.
    clock: Option<u32>,
}

impl Deref for Paths {
    type Target = [SessionPath];

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

impl DerefMut for Paths {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.all
    }
}

impl<'a> IntoIterator for &'a Paths {
    type Item = &'a SessionPath;
    type IntoIter = std::slice::Iter<'a, SessionPath>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl<'a> IntoIterator for &'a mut Paths {
    type Item = &'a mut SessionPath;
    type IntoIter = std::slice::IterMut<'a, SessionPath>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter_mut()
    }
}

impl Paths {
    /// There are none.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            all: Vec::new(),
            next_id: 1,
            last_up: now,
            frames: Turns::default(),
            reports: Turns::default(),
            clock: None,
        }
    }

    /// Adds a path.
    pub(crate) fn push(&mut self, path: SessionPath) {
        self.all.push(path);
    }

    /// Takes out all paths. Their names remain in use.
    pub(crate) fn take(&mut self) -> Vec<SessionPath> {
        std::mem::take(&mut self.all)
    }

    /// Drops all paths. Their names remain in use.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
    }

    /// Drops the paths for which `keep` returns false.
    pub(crate) fn retain_mut(&mut self, keep: impl FnMut(&mut SessionPath) -> bool) {
        self.all.retain_mut(keep);
    }

    /// Returns a path id of this end that was never used in this session. They end after 65,535,
    /// which is many changes; then they begin again behind those in use.
    pub(crate) fn new_id(&mut self) -> SessionPathId {
        loop {
            let id = self.next_id;
            self.next_id = id.checked_add(1).unwrap_or(1);
            if self.all.iter().all(|path| path.own_id != id) {
                return id;
            }
        }
    }

    /// Has a path id that was given from outside not given again.
    pub(crate) fn reserve_id(&mut self, id: SessionPathId) {
        if id >= self.next_id {
            self.next_id = id.checked_add(1).unwrap_or(1);
        }
    }

    /// Returns the place of a path by its name in a frame.
    pub(crate) fn named(&self, ours: bool, wire_id: SessionPathId) -> Option<usize> {
        self.all.iter().position(|path| {
            if ours { path.own_id == wire_id } else { path.peer_id() == Some(wire_id) }
        })
    }

    /// Returns the path with this id in the tunnels.
    pub(crate) fn of(&self, id: PathId) -> Option<&SessionPath> {
        self.all.iter().find(|path| path.id == id)
    }

    /// Returns the smoothed round-trip time of the fastest path.
    pub(crate) fn rtt(&self) -> Option<Duration> {
        self.all.iter().filter_map(|path| path.liveness.rtt().smoothed()).min()
    }

    /// Returns true if a path is up.
    pub(crate) fn any_up(&self) -> bool {
        self.all.iter().any(SessionPath::is_up)
    }

    /// A path is up.
    pub(crate) fn note_up(&mut self, now: Instant) {
        self.last_up = now;
    }

    /// Returns the time at which a path was last up, or the session began.
    pub(crate) const fn last_up(&self) -> Instant {
        self.last_up
    }

    /// Returns the path for a frame that may take any: another one each time, those that work first.
    pub(crate) fn any(&mut self, keys: &Epoch) -> Option<usize> {
        let usable = |path: &SessionPath| {
            !path.is_suspended() && path.remote().is_some() && path.wire_id(keys).is_some()
        };
        let in_turn = self.frames.all(self.all.len());
        let mut places = in_turn.filter(|&i| self.all.get(i).is_some_and(usable));
        let first = places.clone().next();
        places.find(|&i| self.all.get(i).is_some_and(SessionPath::is_up)).or(first)
    }

    /// Returns the path, other than `own`, that has its turn in a report. There are two or more.
    pub(crate) fn next_reported(&mut self, own: usize) -> usize {
        self.reports.next_but(own, self.all.len())
    }

    /// The frames of the peer are stamped by this clock. Delays that were measured by another clock are dropped.
    pub(crate) fn set_clock(&mut self, clock: u32) {
        if self.clock.replace(clock) != Some(clock) {
            self.all.iter_mut().for_each(SessionPath::forget_delays);
        }
    }
}
