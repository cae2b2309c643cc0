//! By how much the peer's packets come earlier on one path than on another, told to the tunnels.

use std::time::Instant;

use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::paths::path::SessionPath;
use crate::session::engine::shared::Shared;
use crate::tunnel::sessions::learning::PathDelay;
use crate::{Times, Tunnels};

impl Session {
    /// A frame that came on the path at place `i` says when the peer sent it.
    pub(crate) fn handle_clock<P: Copy>(
        &mut self,
        at: Times,
        i: usize,
        (id, sent): (u32, u32),
        shared: &mut Shared,
        tunnels: &Tunnels<P>,
    ) {
        self.paths.set_clock(id);
        let Some(path) = self.paths.get_mut(i) else { return };
        let (now, received) = (at.now(), shared.clock.micros(at.arrived()));
        let packets = tunnels.path(path.id).map_or(0, |path| path.received().packets);
        path.one_way.record(now, sent, received);
        path.unloaded.record(now, sent, received, packets);
    }

    /// Has packets from each path held for as long as the longest one that the peer uses takes
    /// longer. Paths of which too little is known count for nothing, and are not held.
    pub(crate) fn equalize<P: Copy>(&self, now: Instant, tunnels: &mut Tunnels<P>) {
        let used = |it: &&SessionPath| {
            let carries = it.brings_bulk && it.peer.is_some_and(|entry| entry.weight > 0);
            carries && !it.liveness.is_silent()
        };
        let known = self.paths.iter().filter(used).map(|it| &it.one_way);
        let known = known.filter(|it| it.is_known());
        let longest = known.reduce(|a, b| if b.longer_than(a) > Some(0) { b } else { a });
        for path in &self.paths {
            let present = tunnels.path_lead(path.id);
            let lead = longest.map(|longest| path.one_way.lead(longest, present));
            tunnels.set_path_lead(path.id, lead.unwrap_or_default());
            tunnels.set_path_jitter(path.id, path.one_way.spread());
        }
        if let Some(id) = self.link.connection() {
            tunnels.set_path_delays(now, id, self.paths.iter().filter_map(probed));
        }
    }
}

/// Returns what the probes say of what the peer sends on a path.
pub(crate) fn probed(path: &SessionPath) -> Option<PathDelay> {
    let (least, rtt) = (path.one_way.least()?, path.liveness.rtt().minimum()?);
    Some(PathDelay { path: path.id, least, spread: path.unloaded.spread(), rtt })
}
