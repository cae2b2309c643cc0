//! Datagrams on their way.

use mpt_wire::ecn::Ecn;

use super::traffic::content::Content;

/// A datagram of the tunnel: the bytes behind its UDP header.
#[derive(Clone, Debug)]
pub(super) struct Datagram {
    /// Its bytes, up to the payload of an inner packet, which nothing reads.
    pub(super) head: Vec<u8>,
    /// Its length in bytes.
    pub(super) len: usize,
    /// Its sequence number, 0 where it has none.
    pub(super) number: u32,
    /// Its content.
    pub(super) content: Content,
    /// The ECN field of its outer IP header.
    pub(super) ecn: Ecn,
}

/// The datagrams on all links by small numbers. A number is free for another datagram once the datagram has been taken.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    slots: Vec<Datagram>,
    free: Vec<u32>,
}

impl Datagrams {
    /// Adds a datagram; `fill` writes its head into an empty buffer.
    pub(super) fn add(
        &mut self,
        (len, number, content, ecn): (usize, u32, Content, Ecn),
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Datagram { head: Vec::new(), len, number, content, ecn });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[id as usize];
        slot.head.clear();
        fill(&mut slot.head);
        (slot.len, slot.number, slot.content, slot.ecn) = (len, number, content, ecn);
        id
    }

    /// Adds a copy of a datagram.
    pub(super) fn duplicate(&mut self, id: u32) -> u32 {
        let Datagram { head, len, number, content, ecn } = self.get(id).clone();
        self.add((len, number, content, ecn), |buffer| *buffer = head)
    }

    /// Returns the datagram of this number.
    pub(super) fn get(&self, id: u32) -> &Datagram {
        &self.slots[id as usize]
    }

    /// Marks a datagram, as a link has done.
    pub(super) fn mark(&mut self, id: u32) {
        self.slots[id as usize].ecn = Ecn::Ce;
    }

    /// Frees the number of a datagram that has arrived, or will not.
    pub(super) fn release(&mut self, id: u32) {
        self.free.push(id);
    }
}
