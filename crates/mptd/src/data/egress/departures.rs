//! The way from the queues of connections to the paths: segments of packets that have waited.

use mpt_core::{Departure, Node};

use super::exits::Exits;
use super::{Egress, Packet};
use crate::data::memory::buffers::PacketRef;
use crate::data::memory::store::Store;
use crate::data::system::System;

impl Egress {
    /// Sends what may leave now of all packets that wait.
    pub(in crate::data) fn depart<S: System>(
        &mut self,
        store: &mut Store,
        node: &mut Node<PacketRef>,
        exits: &mut Exits<'_, S>,
    ) {
        let mut departed = false;
        while let Some(departure) = node.poll_departure(exits.now) {
            departed = true;
            self.send_waiting(&departure, store, exits);
            if departure.released {
                store.release(departure.outgoing.connection, departure.packet);
            }
        }
        if departed {
            self.flush_behind(0, exits);
            node.limit_queues(store.room());
        }
    }

    fn send_waiting<S: System>(
        &mut self,
        departure: &Departure<'_>,
        store: &Store,
        exits: &mut Exits<'_, S>,
    ) {
        let outgoing = &departure.outgoing;
        let Some(waiting) = store.get(outgoing.connection, departure.packet) else { return };
        let packet = Packet::Stored(waiting.bytes());
        self.gather_whole(outgoing, &waiting.segmenter, &packet, exits);
    }
}
