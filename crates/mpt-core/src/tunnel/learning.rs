//! What sessions and the data of adaptive connections tell each other.

use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::Tunnels;
use super::connection::index;
use crate::adaptive::PeerReport;
use crate::feedback::Observer;
use crate::{ConnectionId, PathId};

/// See [`Tunnels::take_departed`].
type Departed = (u32, SmallVec<[(u32, Instant); 16]>, SmallVec<[(PathId, u32, u32); 4]>);

impl<P: Copy> Tunnels<P> {
    /// Has the packets that come on a connection observed, since the peer wants to know when they come;
    /// or no longer.
    pub(crate) fn observe(&mut self, id: ConnectionId, wanted: bool) {
        if let Some(reorder) = self.connection_mut(id).and_then(|it| it.reorder.as_mut()) {
            reorder.observe(wanted);
        }
    }

    /// What has come, while it is observed.
    pub(crate) fn observer(&self, id: ConnectionId) -> Option<&Observer> {
        self.connection(id)?.reorder.as_ref()?.observer()
    }

    /// The report of what has come is made.
    pub(crate) fn reported(&mut self, now: Instant, id: ConnectionId) {
        let reorder = self.connection_mut(id).and_then(|it| it.reorder.as_mut());
        if let Some(observer) = reorder.and_then(|reorder| reorder.observer_mut()) {
            observer.reported(now);
        }
    }

    /// True if the sender of this connection learns from reports.
    pub(crate) fn is_adaptive(&self, id: ConnectionId) -> bool {
        self.connection(id).is_some_and(|connection| connection.tally.adaptive.is_some())
    }

    /// How many packets have left since the last call; when some of them did; and what each path was
    /// given: its last number and its packets.
    pub(crate) fn take_departed(&mut self, id: ConnectionId, most: usize) -> Departed {
        let none = Departed::default();
        let Some(connection) = self.connection_mut(id) else { return none };
        let slots: SmallVec<[PathId; 8]> = connection.slots().collect();
        let Some(adaptive) = &mut connection.tally.adaptive else { return none };
        let sent = adaptive.take_sent();
        if sent == 0 {
            return none;
        }
        let anchors = adaptive.take_anchors(most);
        let given = adaptive.sent_up_to();
        let given =
            given.filter_map(|(slot, last, packets)| Some((*slots.get(slot)?, last, packets)));
        (sent, anchors, given.collect())
    }

    /// The peer reports what has come of ours.
    pub(crate) fn handle_peer_report(
        &mut self,
        now: Instant,
        id: ConnectionId,
        report: &PeerReport<'_>,
    ) {
        let Some(connection) = self.connections.get_mut(index(id)).and_then(Option::as_mut) else {
            return;
        };
        if let Some(adaptive) = &mut connection.tally.adaptive {
            adaptive.handle_report(now, report);
            self.may_depart(id);
        }
    }

    /// The round-trip time of a path by its probes, the least one and the usual one.
    pub(crate) fn set_path_rtt(&mut self, id: PathId, least: Duration, usual: Duration) {
        let Some(path) = self.paths.at(id) else { return };
        let (connection, slot) = (path.connection, usize::from(path.slot));
        if let Some(adaptive) =
            self.connection_mut(connection).and_then(|it| it.tally.adaptive.as_mut())
        {
            adaptive.set_rtt(slot, least, usual);
        }
    }
}
