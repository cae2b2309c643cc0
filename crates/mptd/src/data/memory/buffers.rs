//! The memory in which received packets live until they are written to the device.
//!
//! One block of fixed-size buffers, sized by `buffer_limit` and touched only when used, so that the bound is exact and an idle daemon
//! small. A packet that has to wait in a reorder window stays where it was received when its buffer is well filled, and is copied
//! otherwise: a 64-byte packet does not pin a 64 KB buffer. Copies lie in pages, quarters of a buffer, each with packets of one share only
//! (`shares.rs`), so that what a share holds is known exactly.

use std::ops::Range;

use mpt_core::ConnectionId;
use mpt_linux::udp::RECEIVE_LEN;

use super::pages::{PAGES_PER_BUFFER, Pages};
use super::shares::{OpenPage, ShareId, Shares};

/// Bytes of one buffer: the largest read, rounded up to whole pages of the system.
const BUFFER_LEN: usize = RECEIVE_LEN.next_multiple_of(4096);
/// Bytes of a page. Reads shorter than this are copied when one of their packets has to wait.
const PAGE_LEN: usize = BUFFER_LEN / PAGES_PER_BUFFER as usize;
/// Buffers never used for waiting packets, so that receiving goes on when the limit is reached: one round of reads and one more.
const RESERVED: usize = crate::data::event_loop::rounds::BUFFERS_PER_ROUND + 1;
/// Smallest number of buffers that makes sense.
const MIN_BUFFERS: usize = 2 * RESERVED;
/// The share of a page that no waiting packet lies in.
const NOBODY: ShareId = ShareId(u32::MAX);

/// The place of a packet: a handle that is valid while its buffer is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketRef {
    buffer: u32,
    offset: u32,
    len: u32,
}

impl PacketRef {
    /// The handle of a part of the packet.
    #[must_use]
    pub(crate) fn part(self, range: Range<usize>) -> Self {
        Self { offset: self.offset + range.start as u32, len: range.len() as u32, ..self }
    }
}

/// The users of a page, or of a whole buffer by its first page.
#[derive(Clone, Copy, Debug)]
struct Hold {
    /// One for the round that received into the buffer, and one for each waiting packet.
    count: u32,
    /// The share of the waiting packets.
    share: ShareId,
}

/// All buffers of the daemon.
#[derive(Debug)]
pub(crate) struct Buffers {
    memory: Vec<u8>,
    /// The users of each page.
    holds: Vec<Hold>,
    /// Free buffers, the most recently used on top: it is still in the cache.
    free: Vec<u32>,
    /// Buffers this round received into.
    round: Vec<u32>,
    /// Pages and buffers without holders, free when the round ends: delivered packets may lie in them until then.
    idle: Vec<u32>,
    /// Buffers that are divided.
    pages: Pages,
    shares: Shares,
}

impl Buffers {
    /// Room for `limit` bytes of received packets, at least a few rounds of reads.
    #[must_use]
    pub(crate) fn new(limit: usize) -> Self {
        let count = (limit / BUFFER_LEN).clamp(MIN_BUFFERS, (u32::MAX / PAGES_PER_BUFFER) as usize);
        let pages = count * PAGES_PER_BUFFER as usize;
        let waiting = (count - RESERVED) as u32 * PAGES_PER_BUFFER;
        Self {
            memory: vec![0; count * BUFFER_LEN],
            holds: vec![Hold { count: 0, share: NOBODY }; pages],
            free: (0..count as u32).rev().collect(),
            round: Vec::with_capacity(count),
            idle: Vec::with_capacity(pages),
            pages: Pages::new(count),
            shares: Shares::new(waiting),
        }
    }

    /// Returns the shares of the memory by owner.
    pub(crate) fn shares_mut(&mut self) -> &mut Shares {
        &mut self.shares
    }

    /// A buffer to receive into, held until the round ends. The reserve guarantees one for each read of a round.
    pub(crate) fn receive_buffer(&mut self) -> Option<u32> {
        let buffer = self.free.pop()?;
        self.holds[first_page(buffer) as usize] = Hold { count: 1, share: NOBODY };
        self.round.push(buffer);
        Some(buffer)
    }

    /// The bytes of a buffer.
    pub(crate) fn bytes_mut(&mut self, buffer: u32) -> &mut [u8] {
        let start = buffer as usize * BUFFER_LEN;
        &mut self.memory[start..start + BUFFER_LEN]
    }

    /// A handle to bytes of a buffer.
    #[must_use]
    pub(crate) fn packet(&self, buffer: u32, range: Range<usize>) -> PacketRef {
        PacketRef { buffer, offset: range.start as u32, len: range.len() as u32 }
    }

    /// The packet's bytes, to be changed.
    pub(crate) fn packet_mut(&mut self, packet: PacketRef) -> &mut [u8] {
        let start = packet.buffer as usize * BUFFER_LEN + packet.offset as usize;
        &mut self.memory[start..start + packet.len as usize]
    }

    /// The packet's bytes.
    #[must_use]
    pub(crate) fn bytes(&self, packet: PacketRef) -> &[u8] {
        let start = packet.buffer as usize * BUFFER_LEN + packet.offset as usize;
        &self.memory[start..start + packet.len as usize]
    }

    /// Makes `packet`, one of a read of `read_len` bytes, outlast the round. `None` when its connection's share or all memory is used up.
    pub(crate) fn keep(
        &mut self,
        connection: ConnectionId,
        packet: PacketRef,
        read_len: usize,
    ) -> Option<PacketRef> {
        let share = self.shares.of(connection);
        if read_len >= PAGE_LEN && self.keep_in_place(share, packet) {
            return Some(packet);
        }
        self.copy(share, packet)
    }

    /// Keeps the whole buffer of a packet for its share, unless another share has it.
    fn keep_in_place(&mut self, share: ShareId, packet: PacketRef) -> bool {
        let hold = &mut self.holds[first_page(packet.buffer) as usize];
        if hold.share != share {
            if hold.share != NOBODY
                || self.free.len() < RESERVED
                || !self.shares.take(share, PAGES_PER_BUFFER)
            {
                return false;
            }
            hold.share = share;
        }
        hold.count += 1;
        true
    }

    /// Copies a packet to a page of its share.
    fn copy(&mut self, share: ShareId, packet: PacketRef) -> Option<PacketRef> {
        let len = packet.len;
        let open = self.shares.open_page(share).filter(|it| (it.used + len) as usize <= PAGE_LEN);
        let OpenPage { page, used } = match open {
            Some(open) => open,
            None => self.next_page(share, len)?,
        };
        *self.shares.open_page(share) = Some(OpenPage { page, used: used + len });
        let (buffer, offset) =
            (page / PAGES_PER_BUFFER, page % PAGES_PER_BUFFER * PAGE_LEN as u32 + used);
        let from = packet.buffer as usize * BUFFER_LEN + packet.offset as usize;
        let to = buffer as usize * BUFFER_LEN + offset as usize;
        self.memory.copy_within(from..from + len as usize, to);
        self.holds[page as usize].count += 1;
        Some(PacketRef { buffer, offset, len })
    }

    /// An empty page for a share, for a packet of `len` bytes first.
    fn next_page(&mut self, share: ShareId, len: u32) -> Option<OpenPage> {
        let room = len as usize <= PAGE_LEN
            && (self.pages.has_any() || self.free.len() >= RESERVED)
            && self.shares.take(share, 1);
        if !room {
            return None;
        }
        let page = self.pages.take(&mut self.free)?;
        self.holds[page as usize] = Hold { count: 0, share };
        Some(OpenPage { page, used: 0 })
    }

    /// A kept packet is delivered or given up. Its bytes stay readable until the round ends.
    pub(crate) fn release(&mut self, packet: PacketRef) {
        let page = first_page(packet.buffer);
        self.release_hold(match self.pages.is_divided(packet.buffer) {
            true => page + packet.offset / PAGE_LEN as u32,
            false => page,
        });
    }

    fn release_hold(&mut self, page: u32) {
        let hold = &mut self.holds[page as usize];
        hold.count -= 1;
        if hold.count > 0 {
            return;
        }
        self.idle.push(page);
        let share = std::mem::replace(&mut hold.share, NOBODY);
        if share != NOBODY {
            let divided = self.pages.is_divided(page / PAGES_PER_BUFFER);
            self.shares.give_back(share, page, if divided { 1 } else { PAGES_PER_BUFFER });
        }
    }

    /// Frees every buffer nobody needs any more. Nothing delivered before may be read afterwards.
    pub(crate) fn end_round(&mut self) {
        while let Some(buffer) = self.round.pop() {
            self.release_hold(first_page(buffer));
        }
        while let Some(page) = self.idle.pop() {
            match self.pages.is_divided(page / PAGES_PER_BUFFER) {
                true => self.pages.give_back(page, &mut self.free),
                false => self.free.push(page / PAGES_PER_BUFFER),
            }
        }
    }

    /// Bytes in use by waiting packets, counted as whole pages.
    #[must_use]
    pub(crate) fn used(&self) -> usize {
        self.shares.held() as usize * PAGE_LEN
    }

    /// The most bytes that can be in use.
    #[must_use]
    pub(crate) fn limit(&self) -> usize {
        self.memory.len()
    }
}

/// The number by which a whole buffer is known among the pages.
const fn first_page(buffer: u32) -> u32 {
    buffer * PAGES_PER_BUFFER
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::memory::shares::Owner;

    const FIRST: ConnectionId = ConnectionId::first(0);
    const SECOND: ConnectionId = ConnectionId::first(1);

    fn read(buffers: &mut Buffers, len: usize, fill: u8) -> u32 {
        let buffer = buffers.receive_buffer().unwrap();
        buffers.bytes_mut(buffer)[..len].fill(fill);
        buffer
    }

    /// Receives a packet of `len` bytes by itself, and keeps it.
    fn receive(buffers: &mut Buffers, connection: ConnectionId, len: usize) -> Option<PacketRef> {
        let buffer = read(buffers, len, 7);
        let packet = buffers.packet(buffer, 0..len);
        let kept = buffers.keep(connection, packet, len);
        buffers.end_round();
        kept
    }

    /// Receives packets of `len` bytes as long as they are kept.
    fn fill(buffers: &mut Buffers, connection: ConnectionId, len: usize) -> Vec<PacketRef> {
        std::iter::from_fn(|| receive(buffers, connection, len)).collect()
    }

    fn release(buffers: &mut Buffers, kept: impl IntoIterator<Item = PacketRef>) {
        kept.into_iter().for_each(|packet| buffers.release(packet));
        buffers.end_round();
    }

    /// Two connections, each of its own.
    fn shared(limit: usize) -> Buffers {
        let mut buffers = Buffers::new(limit);
        for id in [FIRST, SECOND] {
            buffers.shares_mut().assign(id, Owner::Connection(id));
        }
        buffers
    }

    #[test]
    fn small_waiting_packets_share_a_page() {
        let mut buffers = Buffers::new(0);
        let total = buffers.free.len();
        let mut kept = Vec::new();
        for fill in 0..100 {
            let buffer = read(&mut buffers, 64, fill);
            let packet = buffers.packet(buffer, 0..64);
            kept.push(buffers.keep(FIRST, packet, 64).unwrap());
            buffers.end_round();
        }
        assert_eq!((buffers.free.len(), buffers.used()), (total - 1, PAGE_LEN));
        for (fill, &packet) in kept.iter().enumerate() {
            assert_eq!(buffers.bytes(packet), [fill as u8; 64]);
        }
        release(&mut buffers, kept);
        assert_eq!((buffers.free.len(), buffers.used()), (total, 0));
    }

    #[test]
    fn a_well_filled_buffer_is_kept_in_place_and_freed_with_its_last_packet() {
        let mut buffers = Buffers::new(0);
        let total = buffers.free.len();
        let buffer = read(&mut buffers, 60_000, 9);
        let first = buffers.packet(buffer, 0..1000);
        let second = buffers.packet(buffer, 1000..2000);
        assert_eq!(buffers.keep(FIRST, first, 60_000), Some(first));
        assert_eq!(buffers.keep(FIRST, second, 60_000), Some(second));
        buffers.end_round();
        assert_eq!((buffers.free.len(), buffers.used()), (total - 1, BUFFER_LEN));
        release(&mut buffers, [first]);
        assert_eq!(buffers.bytes(second), [9; 1000]);
        release(&mut buffers, [second]);
        assert_eq!((buffers.free.len(), buffers.used()), (total, 0));
    }

    #[test]
    fn at_the_limit_nothing_more_is_kept_but_receiving_goes_on() {
        for len in [1500, 60_000] {
            let mut buffers = Buffers::new(0);
            let kept = fill(&mut buffers, FIRST, len);
            assert!(!kept.is_empty());
            for _ in 0..RESERVED - 1 {
                assert!(buffers.receive_buffer().is_some());
            }
            buffers.end_round();
            assert!(buffers.used() <= buffers.limit());
            release(&mut buffers, kept);
            assert_eq!((buffers.free.len(), buffers.used()), (MIN_BUFFERS, 0));
        }
    }

    #[test]
    fn whoever_takes_what_there_is_leaves_the_others_some() {
        for (greedy, other) in [(64, 64), (64, 60_000), (60_000, 64), (60_000, 60_000)] {
            let mut buffers = shared(64 << 20);
            let waiting = buffers.limit() - RESERVED * BUFFER_LEN;
            let first = fill(&mut buffers, FIRST, greedy);
            let taken = buffers.used();
            assert!(2 * taken <= waiting && taken > waiting / 3, "{taken} of {waiting}");
            let second = fill(&mut buffers, SECOND, other);
            let got = buffers.used() - taken;
            assert!(taken + 2 * got <= waiting && got > waiting / 5, "{got} of {waiting}");
            release(&mut buffers, first.into_iter().chain(second));
            assert_eq!((buffers.free.len(), buffers.used()), (buffers.holds.len() / 4, 0));
        }
    }

    /// A page that is nearly empty is a page: holding one packet in each gains nothing.
    #[test]
    fn pages_with_holes_count_as_they_are() {
        let mut buffers = shared(64 << 20);
        let waiting = buffers.limit() - RESERVED * BUFFER_LEN;
        let per_page = PAGE_LEN / 1000;
        let mut sparse = Vec::new();
        for _ in 0..100 {
            let kept = fill(&mut buffers, FIRST, 1000);
            if kept.is_empty() {
                break;
            }
            let (keep, gone): (Vec<_>, Vec<_>) =
                kept.into_iter().enumerate().partition(|(index, _)| index % per_page == 0);
            sparse.extend(keep.into_iter().map(|(_, packet)| packet));
            release(&mut buffers, gone.into_iter().map(|(_, packet)| packet));
        }
        assert!(buffers.used() <= waiting / 2);
        let other = fill(&mut buffers, SECOND, 60_000);
        let got = buffers.used() - sparse.len() * PAGE_LEN;
        assert!(got > waiting / 5, "{got} of {waiting} with {} pages of one packet", sparse.len());
        release(&mut buffers, sparse.into_iter().chain(other));
        assert_eq!((buffers.free.len(), buffers.used()), (buffers.holds.len() / 4, 0));
    }

    #[test]
    fn packets_of_two_shares_in_one_read_are_counted_apart() {
        let mut buffers = shared(64 << 20);
        let buffer = read(&mut buffers, 60_000, 9);
        let packets = [0..1000, 1000..2000].map(|range| buffers.packet(buffer, range));
        assert_eq!(buffers.keep(FIRST, packets[0], 60_000), Some(packets[0]));
        let copy = buffers.keep(SECOND, packets[1], 60_000).unwrap();
        assert_ne!(copy.buffer, buffer);
        assert_eq!(buffers.bytes(copy), [9; 1000]);
        assert_eq!(buffers.used(), BUFFER_LEN + PAGE_LEN);
    }
}
