//! Packets that wait in the queues of connections with adaptive mapping. The engine decides what waits, in which order it leaves and
//! what is dropped; here are the bytes.

use mpt_core::{ConnectionId, StoreId};
use mpt_offload::Segmenter;

use super::pool::{Buffer, Pool};

/// Bytes of memory that waiting packets of the whole daemon may take.
const LIMIT: usize = 64 << 20;
/// The largest buffer that one packet may take.
const LARGEST: usize = 1 << 16;
/// Freed bytes that are worth giving back to the system, which takes a millisecond or more.
const WORTH_RELEASING: usize = 1 << 20;

/// A packet or super-packet of which segments wait.
#[derive(Debug)]
pub(in crate::data) struct Waiting {
    /// Cuts it into its segments.
    pub(in crate::data) segmenter: Segmenter,
    buffer: Buffer,
}

/// The packets of one connection.
#[derive(Debug, Default)]
struct Queue {
    /// The connection, once it has had a packet here.
    connection: Option<ConnectionId>,
    /// The packets by [`StoreId`]; the engine begins no number before all lower ones are taken.
    places: Vec<Option<Waiting>>,
    /// The number of them that are taken.
    packets: usize,
    /// True if none was taken since [`Store::trim`].
    idle: bool,
}

/// The packets of all connections. Memory is needed only while packets wait: see [`Self::trim`].
#[derive(Debug)]
pub(in crate::data) struct Store {
    /// The queues, by the indices of the connections.
    queues: Vec<Queue>,
    pool: Pool,
    limit: usize,
    /// The bytes that were freed since [`Store::trim`] said that they are worth giving back.
    freed: usize,
}

impl Waiting {
    /// The packet.
    pub(in crate::data) fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }
}

impl Queue {
    fn is_of(&self, connection: ConnectionId) -> bool {
        self.connection == Some(connection)
    }

    /// Forgets all packets.
    fn clear(&mut self, pool: &mut Pool) {
        let gone = std::mem::take(&mut self.places).into_iter().flatten();
        gone.for_each(|waiting| pool.give_back(waiting.buffer));
        self.packets = 0;
    }
}

impl Store {
    /// Returns a store in which nothing waits.
    pub(in crate::data) fn new() -> Self {
        Self { queues: Vec::new(), pool: Pool::default(), limit: LIMIT, freed: 0 }
    }

    /// Returns how many bytes may wait in the queue of any one connection now: as much as is free, so that each leaves some for the others. The next packet is sure
    /// to find room if that of its connection does.
    pub(in crate::data) fn room(&self) -> usize {
        (self.limit - self.pool.used()).saturating_sub(LARGEST)
    }

    /// Keeps a packet.
    pub(in crate::data) fn put(
        &mut self,
        connection: ConnectionId,
        id: StoreId,
        segmenter: &Segmenter,
        packet: &[u8],
    ) {
        let (queue, place) = (connection.index(), id.0 as usize);
        if self.queues.len() <= queue {
            self.queues.resize_with(queue + 1, Queue::default);
        }
        let Some(buffer) = self.pool.take(packet) else { return };
        let queue = &mut self.queues[queue];
        if queue.connection.replace(connection) != Some(connection) {
            // One that had the index before is gone.
            queue.clear(&mut self.pool);
        }
        if queue.places.len() <= place {
            queue.places.resize_with(place + 1, || None);
        }
        (queue.packets, queue.idle) = (queue.packets + 1, false);
        let waiting = Waiting { segmenter: *segmenter, buffer };
        if let Some(former) = queue.places[place].replace(waiting) {
            queue.packets -= 1;
            self.pool.give_back(former.buffer);
        }
    }

    /// A packet that waits.
    pub(in crate::data) fn get(&self, connection: ConnectionId, id: StoreId) -> Option<&Waiting> {
        let queue = self.queues.get(connection.index())?;
        queue.places.get(id.0 as usize).filter(|_| queue.is_of(connection))?.as_ref()
    }

    /// Forgets a packet.
    pub(in crate::data) fn release(&mut self, connection: ConnectionId, id: StoreId) {
        let Some(queue) = self.queues.get_mut(connection.index()) else { return };
        if !queue.is_of(connection) {
            return;
        }
        if let Some(waiting) = queue.places.get_mut(id.0 as usize).and_then(Option::take) {
            queue.packets -= 1;
            self.pool.give_back(waiting.buffer);
        }
    }

    /// Forgets the packets of all connections but those of which packets still wait.
    pub(in crate::data) fn retain(&mut self, waits: impl Fn(ConnectionId) -> bool) {
        for queue in &mut self.queues {
            if queue.packets > 0 && queue.connection.is_none_or(|connection| !waits(connection)) {
                queue.clear(&mut self.pool);
            }
        }
    }

    /// Frees the memory that was not needed since the last call. Returns true when so much has been freed that it is worth giving back to the system.
    pub(in crate::data) fn trim(&mut self) -> bool {
        for queue in &mut self.queues {
            if queue.idle {
                queue.places = Vec::new();
            }
            queue.idle = queue.packets == 0;
        }
        self.freed += self.pool.trim();
        let is_much = self.freed >= WORTH_RELEASING;
        if is_much {
            self.freed = 0;
        }
        is_much
    }

    /// Returns the bytes of memory of the packets that wait.
    #[cfg(test)]
    pub(in crate::data) fn used(&self) -> usize {
        self.pool.used()
    }

    /// Returns the bytes of memory that it has for packets, used or not.
    #[cfg(test)]
    pub(in crate::data) fn memory(&self) -> usize {
        self.pool.memory()
            + self
                .queues
                .iter()
                .map(|queue| queue.places.capacity() * size_of::<Option<Waiting>>())
                .sum::<usize>()
    }

    /// Changes how much may wait.
    #[cfg(test)]
    pub(in crate::data) fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }
}
