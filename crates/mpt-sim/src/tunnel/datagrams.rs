//! Datagrams on their way.

use mpt_wire::ecn::Ecn;

use super::traffic::content::Content;

/// A datagram of the tunnel: what follows its UDP header.
#[derive(Clone, Debug)]
pub(super) struct Datagram {
    /// Its bytes, up to the payload of an inner packet, which nobody reads.
    pub(super) head: Vec<u8>,
    /// How many bytes it has in all.
    pub(super) len: usize,
    /// Its sequence number, 0 where it has none.
    pub(super) number: u32,
    /// What it holds.
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
    /// Adds one; `fill` writes its head into an empty buffer.
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

    /// Adds another one that is the same.
    pub(super) fn duplicate(&mut self, id: u32) -> u32 {
        let Datagram { head, len, number, content, ecn } = self.get(id).clone();
        self.add((len, number, content, ecn), |buffer| *buffer = head)
    }

    /// The one of this number.
    pub(super) fn get(&self, id: u32) -> &Datagram {
        &self.slots[id as usize]
    }

    /// A link has marked it.
    pub(super) fn mark(&mut self, id: u32) {
        self.slots[id as usize].ecn = Ecn::Ce;
    }

    /// It has arrived, or will not.
    pub(super) fn release(&mut self, id: u32) {
        self.free.push(id);
    }
}
