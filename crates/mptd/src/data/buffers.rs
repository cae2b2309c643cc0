//! The memory in which received packets live until they are written to the device.
//!
//! One block of fixed-size buffers, sized by `buffer_limit` and touched only when used, so that the bound is exact and an idle daemon
//! small. A packet that has to wait in a reorder window stays where it was received when its buffer is well filled, and is
//! copied to a shared buffer otherwise: a 64-byte packet does not pin a 64 KB buffer.

use std::ops::Range;

use mpt_linux::udp::RECEIVE_LEN;

/// Bytes of one buffer: the largest read, rounded up to whole pages.
const BUFFER_LEN: usize = RECEIVE_LEN.next_multiple_of(4096);
/// Reads shorter than this are copied when one of their packets has to wait.
const COPY_BELOW: usize = BUFFER_LEN / 4;
/// Buffers never used for waiting packets, so that receiving goes on when the limit is reached: one round of reads and the shared buffer.
const RESERVED: usize = super::ingress::BUFFERS_PER_ROUND + 1;
/// Smallest number of buffers that makes sense.
const MIN_BUFFERS: usize = 2 * RESERVED;

/// Where a packet lies: a handle, valid while its buffer is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketRef {
    buffer: u32,
    offset: u32,
    len: u32,
}

/// All buffers of the daemon.
#[derive(Debug)]
pub(crate) struct Buffers {
    memory: Vec<u8>,
    /// Who still needs each buffer: one for the round that received into it, one for each waiting packet, one for being the shared buffer.
    holds: Vec<u32>,
    /// Free buffers, the most recently used on top: it is still in the cache.
    free: Vec<u32>,
    /// Buffers this round received into.
    round: Vec<u32>,
    /// Buffers without holders, free when the round ends: delivered packets may lie in them until then.
    idle: Vec<u32>,
    /// Where short reads' waiting packets are copied, and how far it is filled.
    shared: Option<(u32, usize)>,
}

impl Buffers {
    /// Room for `limit` bytes of received packets, at least a few rounds of reads.
    #[must_use]
    pub(crate) fn new(limit: usize) -> Self {
        let count = (limit / BUFFER_LEN).clamp(MIN_BUFFERS, u32::MAX as usize);
        Self {
            memory: vec![0; count * BUFFER_LEN],
            holds: vec![0; count],
            free: (0..count as u32).rev().collect(),
            round: Vec::with_capacity(count),
            idle: Vec::with_capacity(count),
            shared: None,
        }
    }

    /// A buffer to receive into, held until the round ends. The reserve guarantees one for each read of a round.
    pub(crate) fn receive_buffer(&mut self) -> Option<u32> {
        let buffer = self.free.pop()?;
        self.holds[buffer as usize] = 1;
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

    /// The packet's bytes.
    #[must_use]
    pub(crate) fn bytes(&self, packet: PacketRef) -> &[u8] {
        let start = packet.buffer as usize * BUFFER_LEN + packet.offset as usize;
        &self.memory[start..start + packet.len as usize]
    }

    /// Makes `packet`, one of a read of `read_len` bytes, outlast the round. `None` when the limit is reached.
    pub(crate) fn keep(&mut self, packet: PacketRef, read_len: usize) -> Option<PacketRef> {
        if read_len >= COPY_BELOW {
            if self.free.len() < RESERVED {
                return None;
            }
            self.holds[packet.buffer as usize] += 1;
            return Some(packet);
        }
        let len = packet.len as usize;
        let (buffer, offset) = match self.shared {
            Some((buffer, used)) if used + len <= BUFFER_LEN => (buffer, used),
            _ => (self.next_shared()?, 0),
        };
        let from = packet.buffer as usize * BUFFER_LEN + packet.offset as usize;
        self.memory.copy_within(from..from + len, buffer as usize * BUFFER_LEN + offset);
        self.shared = Some((buffer, offset + len));
        self.holds[buffer as usize] += 1;
        Some(PacketRef { buffer, offset: offset as u32, len: packet.len })
    }

    fn next_shared(&mut self) -> Option<u32> {
        if self.free.len() < RESERVED {
            return None;
        }
        let buffer = self.free.pop()?;
        self.holds[buffer as usize] = 1;
        if let Some((full, _)) = self.shared.replace((buffer, 0)) {
            self.release_hold(full);
        }
        Some(buffer)
    }

    /// A kept packet is delivered or given up. Its bytes stay readable until the round ends.
    pub(crate) fn release(&mut self, packet: PacketRef) {
        self.release_hold(packet.buffer);
    }

    fn release_hold(&mut self, buffer: u32) {
        let holds = &mut self.holds[buffer as usize];
        *holds -= 1;
        if *holds == 0 {
            self.idle.push(buffer);
        }
    }

    /// Frees every buffer nobody needs any more. Nothing delivered before may be read afterwards.
    pub(crate) fn end_round(&mut self) {
        while let Some(buffer) = self.round.pop() {
            self.release_hold(buffer);
        }
        self.free.append(&mut self.idle);
    }

    /// Bytes in use by waiting packets, counted as whole buffers.
    #[must_use]
    pub(crate) fn used(&self) -> usize {
        (self.holds.len() - self.free.len()) * BUFFER_LEN
    }

    /// The most bytes that can be in use.
    #[must_use]
    pub(crate) fn limit(&self) -> usize {
        self.memory.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(buffers: &mut Buffers, len: usize, fill: u8) -> u32 {
        let buffer = buffers.receive_buffer().unwrap();
        buffers.bytes_mut(buffer)[..len].fill(fill);
        buffer
    }

    #[test]
    fn small_waiting_packets_share_a_buffer() {
        let mut buffers = Buffers::new(0);
        let total = buffers.free.len();
        let mut kept = Vec::new();
        for fill in 0..100 {
            let buffer = read(&mut buffers, 64, fill);
            let packet = buffers.packet(buffer, 0..64);
            kept.push(buffers.keep(packet, 64).unwrap());
            buffers.end_round();
        }
        assert_eq!(buffers.free.len(), total - 1, "one shared buffer for all of them");
        for (fill, &packet) in kept.iter().enumerate() {
            assert_eq!(buffers.bytes(packet), [fill as u8; 64]);
            buffers.release(packet);
        }
    }

    #[test]
    fn a_well_filled_buffer_is_kept_in_place_and_freed_with_its_last_packet() {
        let mut buffers = Buffers::new(0);
        let total = buffers.free.len();
        let buffer = read(&mut buffers, 60_000, 9);
        let first = buffers.packet(buffer, 0..1000);
        let second = buffers.packet(buffer, 1000..2000);
        assert_eq!(buffers.keep(first, 60_000), Some(first));
        assert_eq!(buffers.keep(second, 60_000), Some(second));
        buffers.end_round();
        assert_eq!(buffers.free.len(), total - 1);
        buffers.release(first);
        buffers.end_round();
        assert_eq!(buffers.bytes(second), [9; 1000]);
        buffers.release(second);
        buffers.end_round();
        assert_eq!(buffers.free.len(), total);
    }

    #[test]
    fn at_the_limit_nothing_more_is_kept_but_receiving_goes_on() {
        let mut buffers = Buffers::new(0);
        let mut kept = 0;
        loop {
            let buffer = read(&mut buffers, 60_000, 1);
            let packet = buffers.packet(buffer, 0..1500);
            let full = buffers.keep(packet, 60_000).is_none();
            buffers.end_round();
            if full {
                break;
            }
            kept += 1;
            assert!(kept < 1000);
        }
        for _ in 0..RESERVED - 1 {
            assert!(buffers.receive_buffer().is_some());
        }
        buffers.end_round();
        assert!(buffers.used() <= buffers.limit());
    }
}
