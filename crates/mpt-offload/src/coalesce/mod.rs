//! Joining packets of a flow into super-packets, so that TUN and the host's stack are paid once for many.
//!
//! The rules are those of the kernel's own GRO, read strictly: what comes out, cut again by a [`Segmenter`], gives the packets
//! that went in byte by byte, except for the IPv4 identification of packets with DF set, which has no meaning (RFC 6864
//! section 4.1). Hence what is only nearly alike stays apart: another acknowledgment number, window, TCP option, DSCP, ECN mark,
//! TTL or flow label.
//!
//! [`Segmenter`]: crate::Segmenter

mod candidate;
mod mergeable;
mod sink;
mod slot;

use crate::vnet::VnetHeader;
use candidate::{Candidate, Class, Flow, Reason, classify};
pub use mergeable::Mergeable;
pub use sink::{MAX_PIECES, Piece, Sink};
use slot::{Join, Slot, ends_super_packet, verify};

/// Flows that can have a super-packet in the making at one time. A batch from the network seldom has more; when it does, the
/// oldest is written early.
const SLOTS: usize = 8;

/// The outcomes of packets. Every packet pushed and no longer held is in exactly one of the fields but `super_packets`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Super-packets written.
    pub super_packets: u64,
    /// Packets that went into them.
    pub merged: u64,
    /// Fit to be merged, but the packets before and after were not of the same kind.
    pub alone: u64,
    /// Checksum wrong or, in UDP, absent; passed on untouched.
    pub checksum: u64,
    /// TCP without data, or with flags other than ACK, PSH, FIN and those of ECN; UDP without data.
    pub control: u64,
    /// Fragments, IPv4 options, lengths that contradict each other.
    pub headers: u64,
    /// Other protocols (IPv6 extension headers among them), and those that [`Mergeable`] excludes.
    pub protocol: u64,
}

/// Merges packets, given in the order of their sequence numbers, into super-packets.
///
/// The order of packets within a flow is kept. A flow may overtake another within a batch. Packets are named by a handle `H`;
/// their bytes have to stay where they are until they were written, at the latest by [`Self::flush`].
#[derive(Debug)]
pub struct Coalescer<H> {
    mergeable: Mergeable,
    slots: [Slot<H>; SLOTS],
    /// A permutation of the slots' indices. The first `open` hold packets, the oldest first.
    order: [u8; SLOTS],
    open: usize,
    counters: Counters,
}

impl<H: Copy> Coalescer<H> {
    /// Returns a coalescer that merges what the TUN device can take. All memory it will ever need is allocated here.
    pub fn new(mergeable: Mergeable) -> Self {
        Coalescer {
            mergeable,
            slots: std::array::from_fn(|_| Slot::new()),
            order: std::array::from_fn(|index| index as u8),
            open: 0,
            counters: Counters::default(),
        }
    }

    /// Takes the next packet, from its IP header on; whatever is finished by it goes to `sink`.
    ///
    /// `after_gap`: packets are missing directly before this one; nothing held is merged with it.
    pub fn push(&mut self, packet: &[u8], handle: H, after_gap: bool, sink: &mut impl Sink<H>) {
        if after_gap {
            self.flush(sink);
        }
        match classify(packet, self.mergeable) {
            Class::Candidate(candidate) => self.push_candidate(packet, handle, &candidate, sink),
            Class::Flow(flow, why) => {
                self.close_flow(&flow, sink);
                self.pass(packet, handle, why, sink);
            }
            Class::Hosts(addresses, why) => {
                // From the oldest to the newest; closing one moves the next to its place.
                let mut position = 0;
                while position < self.open {
                    if self.slot(position).flow().addresses == addresses {
                        self.close(position, sink);
                    } else {
                        position += 1;
                    }
                }
                self.pass(packet, handle, why, sink);
            }
            Class::Foreign => self.pass(packet, handle, Reason::Protocol, sink),
        }
    }

    /// Writes everything held. To be called at the end of each batch: nothing waits for packets that may not come.
    pub fn flush(&mut self, sink: &mut impl Sink<H>) {
        while self.open > 0 {
            self.close(0, sink);
        }
    }

    /// Counts since construction.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn push_candidate(
        &mut self,
        packet: &[u8],
        handle: H,
        candidate: &Candidate,
        sink: &mut impl Sink<H>,
    ) {
        let held = self.find(&candidate.flow);
        let join = held.map_or(Join::No, |position| self.slot(position).accepts(packet, candidate));
        if join == Join::No {
            if let Some(position) = held {
                self.close(position, sink);
            }
            if ends_super_packet(packet, candidate) {
                // It would be alone: the kernel can check it as well as we can.
                return self.pass(packet, handle, Reason::Alone, sink);
            }
        }
        let Some(pseudo) = verify(packet, candidate) else {
            self.close_flow(&candidate.flow, sink);
            return self.pass(packet, handle, Reason::Checksum, sink);
        };
        match (join, held) {
            (Join::Yes, Some(position)) => self.slot_mut(position).push(packet, handle, candidate),
            (Join::Last, Some(position)) => {
                self.slot_mut(position).push(packet, handle, candidate);
                self.close(position, sink);
            }
            _ => {
                if self.open == SLOTS {
                    self.close(0, sink);
                }
                self.open += 1;
                self.slot_mut(self.open - 1).start(packet, handle, candidate, pseudo);
            }
        }
    }

    /// Writes a packet as it came.
    fn pass(&mut self, packet: &[u8], handle: H, reason: Reason, sink: &mut impl Sink<H>) {
        *match reason {
            Reason::Alone => &mut self.counters.alone,
            Reason::Checksum => &mut self.counters.checksum,
            Reason::Control => &mut self.counters.control,
            Reason::Headers => &mut self.counters.headers,
            Reason::Protocol => &mut self.counters.protocol,
        } += 1;
        let whole = Piece { handle, start: 0, end: packet.len() as u32 };
        sink.write(&VnetHeader::default(), &[], &[whole]);
    }

    /// Writes what is held of a flow.
    fn close_flow(&mut self, flow: &Flow, sink: &mut impl Sink<H>) {
        if let Some(position) = self.find(flow) {
            self.close(position, sink);
        }
    }

    /// Writes what is held at a position of `order`; the younger ones move up.
    fn close(&mut self, position: usize, sink: &mut impl Sink<H>) {
        let count = self.slot(position).count() as u64;
        if count > 1 {
            self.counters.super_packets += 1;
            self.counters.merged += count;
        } else {
            self.counters.alone += 1;
        }
        self.slot_mut(position).close(sink);
        self.order[position..self.open].rotate_left(1);
        self.open -= 1;
    }

    /// The position of a flow's packets, the youngest flow first: it is the likeliest.
    fn find(&self, flow: &Flow) -> Option<usize> {
        (0..self.open).rev().find(|&position| self.slot(position).flow() == flow)
    }

    fn slot(&self, position: usize) -> &Slot<H> {
        &self.slots[usize::from(self.order[position])]
    }

    fn slot_mut(&mut self, position: usize) -> &mut Slot<H> {
        &mut self.slots[usize::from(self.order[position])]
    }
}
