//! The information of a control session about its connection: which paths work, what the peer
//! announces, and whether there is traffic at all.

use std::time::{Duration, Instant};

use crate::path::{Path, Transition};
use crate::tunnel::{DeviceSink, ToDevice, Tunnels};
use crate::{ConnectionId, PathId};

impl<P: Copy> Tunnels<P> {
    /// Says whether anything arrives on a path. While it is silent, the reorder buffer does not wait
    /// for its packets; those that come all the same are accepted.
    pub(crate) fn set_path_silent(&mut self, now: Instant, id: PathId, silent: bool) {
        self.change_path(now, id, |path| path.silent = silent);
    }

    /// Packets from this path come earlier than those of the longest path in use by `lead`: see
    /// [`EqualizedBuffer`](crate::reorder::EqualizedBuffer).
    pub(crate) fn set_path_lead(&mut self, id: PathId, lead: Duration) {
        let Some(path) = self.paths.get(id) else { return };
        let (slot, connection) = (usize::from(path.slot), path.connection);
        if let Some(connection) = self.connection_mut(connection) {
            connection.set_lead(slot, lead);
        }
    }

    /// By how much the delays of what came on this path differ, as far as is known before there is
    /// traffic: see [`ReorderBuffer::set_jitter`](crate::reorder::ReorderBuffer::set_jitter).
    pub(crate) fn set_path_jitter(&mut self, id: PathId, jitter: Duration) {
        let Some(path) = self.paths.get(id) else { return };
        let (slot, connection) = (usize::from(path.slot), path.connection);
        let connection = self.connection_mut(connection);
        if let Some(reorder) = connection.and_then(|it| it.reorder.as_mut()) {
            reorder.buffer_mut().set_jitter(slot, jitter);
        }
    }

    /// Returns how long packets from this path are held.
    pub fn path_lead(&self, id: PathId) -> Duration {
        let lead = || {
            let path = self.paths.get(id)?;
            let buffer = self.connection(path.connection)?.equalized()?;
            Some(buffer.lead(path.slot.into()))
        };
        lead().unwrap_or_default()
    }

    /// The peer announces that from its sequence number `from` on it gives a path this weight in
    /// what it sends (0: none of its packets).
    pub(crate) fn announce(
        &mut self,
        now: Instant,
        id: ConnectionId,
        from: u32,
        path: PathId,
        weight: u16,
    ) {
        let Some(path) = self.paths.get_mut(path).filter(|path| path.connection == id) else {
            return;
        };
        path.unused = weight == 0;
        if let Some(connection) = self.connections.get_mut(id) {
            connection.announce(now, from, path, weight);
        }
        self.set_timer(id);
    }

    /// Starts the receive window at the number `first`, with which the next packets of the peer
    /// begin. Packets that wait in the reorder buffer are delivered. See
    /// [`ReorderBuffer::restart`](crate::reorder::ReorderBuffer::restart).
    pub(crate) fn restart_receive<S: DeviceSink<P>>(
        &mut self,
        now: Instant,
        id: ConnectionId,
        first: u32,
        sink: &mut S,
    ) {
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        let device = connection.device();
        if let Some(reorder) = &mut connection.reorder {
            reorder.restart(now, first, &mut ToDevice { device, sink });
        }
    }

    /// Gives the next path whose state is another than this last gave, whatever made the change: the
    /// administrator, the system, the session. A path that went there and back meanwhile is not
    /// given.
    pub(crate) fn take_transition(&mut self) -> Option<Transition> {
        let paths = &self.paths;
        self.transitions.take(|id| paths.get(id).map(Path::down_reasons))
    }

    /// Has the next packet for this connection from its device noted, once: [`Self::take_woken`]. What is of use only
    /// while packets are sent is given back.
    pub(crate) fn set_quiet(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connection_mut(id) {
            connection.quiet = true;
            if let Some(adaptive) = &mut connection.tally.adaptive {
                adaptive.rest();
            }
        }
    }

    /// A connection that was quiet and has got a packet to send since.
    #[inline]
    pub(crate) fn take_woken(&mut self) -> Option<ConnectionId> {
        self.woken.pop()
    }
}
