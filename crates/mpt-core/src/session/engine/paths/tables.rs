//! The states of paths: those of liveness, of the peer and of the owner of the tunnels are
//! combined, applied to the tunnels, and announced to the peer.

use std::time::Instant;

use mpt_wire::control::PathEntry;

use super::peer_table::PeerTable;
use crate::session::announce::Verdict;
use crate::session::engine::PathEvent;
use crate::session::engine::lifecycle::session::Session;
use crate::session::engine::shared::Shared;
use crate::{ConnectionId, DeviceSink, Tunnels};

impl Session {
    /// Lets the paths' deadlines pass, tells the tunnels, and has the peer told.
    pub(crate) fn settle<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(connection) = self.link.connection() else { return };
        self.hand_over(now, shared, tunnels);
        self.judge(now, connection, shared);
        if !self.paths.any_up() {
            self.paths.iter_mut().for_each(|path| path.liveness.fall_back_to(now));
            self.judge(now, connection, shared);
        }
        self.apply(now, tunnels);
        self.follow_path_mtus(now, connection, shared, tunnels);
        self.equalize(now, tunnels);
        self.announce(now, shared, tunnels);
    }

    /// Lets the paths' deadlines pass, and tells what is held of them.
    fn judge(&mut self, now: Instant, connection: ConnectionId, shared: &mut Shared) {
        for path in &mut self.paths {
            if path.liveness.next_timeout().is_none_or(|at| at > now) {
                continue;
            }
            if let Some(change) = path.liveness.handle_timeout(now) {
                shared.tell(PathEvent::State {
                    session: self.id,
                    connection,
                    path: path.id,
                    state: change.state,
                    silent: change.silent,
                });
            }
        }
    }

    /// Tells the tunnels what is held of the paths.
    pub(crate) fn apply<P: Copy>(&mut self, now: Instant, tunnels: &mut Tunnels<P>) {
        if self.link.connection().is_none() {
            return;
        }
        if let Some(connection) = self.link.connection().filter(|_| self.keys.current.is_some()) {
            tunnels.set_barred(connection, false);
        }
        let usable = self.is_usable();
        for path in &self.paths {
            path.apply(now, usable, tunnels);
        }
        if self.paths.any_up() {
            self.paths.note_up(now);
            if usable {
                self.origin.note_usable(now);
            }
        }
    }

    /// Returns true if its paths may carry data: the peer has its connection, and knows where our
    /// sequence numbers begin.
    fn is_usable(&self) -> bool {
        self.origin.is_open() && self.tables.is_known()
    }

    /// Tells the peer which paths we use, if that has changed or it may not know it.
    pub(crate) fn announce<P: Copy>(
        &mut self,
        now: Instant,
        shared: &mut Shared,
        tunnels: &Tunnels<P>,
    ) {
        let Some(place) = self.keys.sending(now) else { return };
        let Some(connection) = self.link.connection().and_then(|id| tunnels.connection(id)) else {
            return;
        };
        let Some(keys) = self.keys.at_mut(place) else { return };
        let Some(own) = &mut self.tables.own else { return };
        let tier = connection.active_tier().filter(|_| connection.config().direction.sends());
        let mut entries = std::mem::take(&mut shared.entries);
        entries.clear();
        entries.extend(self.paths.iter().filter_map(|path| {
            let wire_id = path.wire_id(keys)?;
            let data = tunnels.path(path.id)?;
            let carries = data.is_up() && Some(data.effective_tier()) == tier;
            Some(path.entry(wire_id, data, carries))
        }));
        own.set(&entries, connection.next_sequence());
        shared.entries = entries;
        if own.due(now, self.paths.rtt()) {
            self.send_table(now, shared, place);
        }
    }

    /// The peer says which paths it uses. `ours`: by names that we gave;
    /// `ordinal`: that of the keys.
    pub(crate) fn handle_table<P: Copy, S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        (ours, ordinal): (bool, u64),
        (generation, epoch, from): (u32, u32, u32),
        entries: impl Iterator<Item = PathEntry>,
        tunnels: &mut Tunnels<P>,
        sink: &mut S,
    ) {
        let Some(connection) = self.link.connection() else { return };
        let Verdict::Newer { epoch_changed } = self.tables.heard.accept(generation, epoch, ordinal)
        else {
            return;
        };
        if epoch_changed {
            tunnels.restart_receive(now, connection, from, sink);
            for path in &mut self.paths {
                path.peer = None;
                path.suspend_or_restart(now);
                path.pace(now);
            }
        }
        PeerTable::replace(&mut self.tables.peer, entries, from, ours);
        for i in 0..self.paths.len() {
            self.follow_table(now, i, connection, tunnels);
        }
    }

    /// Does what the peer's table says of a path.
    pub(crate) fn follow_table<P: Copy>(
        &mut self,
        now: Instant,
        i: usize,
        connection: ConnectionId,
        tunnels: &mut Tunnels<P>,
    ) {
        let Some(path) = self.paths.get_mut(i) else { return };
        let Some(table) = &self.tables.peer else { return };
        let wire_id = if table.ours { Some(path.own_id) } else { path.peer_id() };
        let Some(wire_id) = wire_id else { return };
        let entry = table.entry(wire_id);
        let before = path.peer;
        if entry == before {
            return;
        }
        (path.peer, path.brings_bulk) = (entry, true);
        path.suspend_or_restart(now);
        path.pace(now);
        let weight = entry.map_or(0, |entry| entry.weight);
        if before.is_none() || before.map(|entry| entry.weight) != Some(weight) {
            tunnels.announce(now, connection, table.from, path.id, weight);
        }
        // An old wish does not undo what was set here since.
        let new = |wish: &u16| *wish > 0 && before.map(|entry| entry.wish) != Some(*wish);
        let Some(wish) = entry.map(|entry| entry.wish).filter(new) else { return };
        if let Some(data) = tunnels.path(path.id)
            && self.terms.largest_wish > 0
            && data.config().weight_out != wish.min(self.terms.largest_wish)
        {
            let wish = wish.min(self.terms.largest_wish);
            let weight_in = data.config().weight_in;
            // The wish is a weight as good as any, and the path exists.
            let _ = tunnels.set_weights(now, path.id, wish, weight_in);
        }
    }
}
