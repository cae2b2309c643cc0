//! From the queues of connections to the paths: segments of packets that have waited.
//!
//! A segment that leaves is written to the arena as a whole, headers and payload, since the packet that it is of may have to go before
//! the arena is flushed. It is read for its checksum anyway, so that the copy costs little.

use std::ops::Range;

use mpt_core::{Departure, Node};
use mpt_wire::ecn::{self, Ecn};

use super::Egress;
use super::exits::Exits;
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
        let gre_len = outgoing.header_len();
        let header_len = gre_len + waiting.segmenter.header_len();
        let mut framed: Option<(u16, Range<usize>)> = None;
        for transmit in outgoing.transmits {
            // Its copies are those of the datagram: nothing is sealed twice.
            let known = framed.take_if(|(segment, _)| *segment == transmit.segment);
            let datagram = match known {
                Some((_, datagram)) => datagram,
                None => {
                    let segment = waiting.segmenter.segment_len(transmit.segment);
                    let len = gre_len + segment + outgoing.trailer_len();
                    let datagram = self.room_for(len, 0, exits);
                    let bytes = self.arena_mut(datagram.clone());
                    let inner = &mut bytes[gre_len..][..segment];
                    let payload =
                        waiting.segmenter.segment(waiting.bytes(), transmit.segment, inner);
                    bytes[header_len..][..payload.len()].copy_from_slice(&waiting.bytes()[payload]);
                    if transmit.mark {
                        ecn::set(&mut bytes[gre_len..], Ecn::Ce);
                    }
                    if !outgoing.frame(transmit, bytes) {
                        continue;
                    }
                    datagram
                }
            };
            self.add(outgoing, transmit, datagram.clone(), 0..0, exits);
            framed = Some((transmit.segment, datagram));
        }
    }
}
