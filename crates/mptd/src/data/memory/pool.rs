//! Buffers in a few sizes, for packets that wait. A buffer that was used once is kept for the next packet, and freed when it was not needed for a
//! while.

use mpt_linux::tun::{READ_LEN, VNET_HEADER_LEN};

/// Bytes of the buffers of each class. Each but the last is twice the one before, so that less than half of a buffer is wasted by all
/// but the shortest packets.
const SIZES: [usize; 9] =
    [256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, READ_LEN - VNET_HEADER_LEN];

/// A buffer with a packet in it.
#[derive(Debug)]
pub(in crate::data) struct Buffer {
    class: u8,
    /// Bytes of the packet.
    len: u32,
    memory: Box<[u8]>,
}

/// The buffers of one size.
#[derive(Debug, Default)]
struct Class {
    free: Vec<Box<[u8]>>,
    /// The number in use.
    used: usize,
    /// The most that were in use at one time since [`Pool::trim`].
    peak: usize,
}

/// The buffers of all sizes.
#[derive(Debug, Default)]
pub(in crate::data) struct Pool {
    classes: [Class; SIZES.len()],
    /// Bytes of all buffers in use.
    used: usize,
}

impl Buffer {
    /// The packet.
    pub(in crate::data) fn bytes(&self) -> &[u8] {
        &self.memory[..self.len as usize]
    }
}

impl Pool {
    /// A buffer with a copy of a packet. `None` if it is longer than any that a device gives.
    pub(in crate::data) fn take(&mut self, packet: &[u8]) -> Option<Buffer> {
        let class = SIZES.iter().position(|&size| packet.len() <= size)?;
        let size = SIZES[class];
        let buffers = &mut self.classes[class];
        let mut memory = buffers.free.pop().unwrap_or_else(|| vec![0; size].into_boxed_slice());
        memory[..packet.len()].copy_from_slice(packet);
        buffers.used += 1;
        buffers.peak = buffers.peak.max(buffers.used);
        self.used += size;
        Some(Buffer { class: class as u8, len: packet.len() as u32, memory })
    }

    /// Takes back a buffer that [`Self::take`] gave.
    pub(super) fn give_back(&mut self, buffer: Buffer) {
        let class = &mut self.classes[usize::from(buffer.class)];
        class.used -= 1;
        self.used -= buffer.memory.len();
        class.free.push(buffer.memory);
    }

    /// Returns the bytes of all buffers in use.
    pub(in crate::data) fn used(&self) -> usize {
        self.used
    }

    /// Frees what was not in use at any time since the last call, and returns its bytes.
    pub(in crate::data) fn trim(&mut self) -> usize {
        let mut freed = 0;
        for (class, size) in self.classes.iter_mut().zip(SIZES) {
            let needed = class.peak - class.used;
            freed += class.free.len().saturating_sub(needed) * size;
            class.free.truncate(needed);
            class.free.shrink_to(class.peak);
            class.peak = class.used;
        }
        freed
    }

    /// Returns the bytes of all buffers, in use or not.
    #[cfg(test)]
    pub(in crate::data) fn memory(&self) -> usize {
        let free: usize =
            self.classes.iter().flat_map(|class| &class.free).map(|it| it.len()).sum();
        self.used + free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_of_any_length_is_kept_whole() {
        let mut pool = Pool::default();
        let packet: Vec<u8> = (0..READ_LEN).map(|at| (at * 7 % 251) as u8).collect();
        for len in [1, 255, 256, 257, 1_500, 2_049, 32_768, 32_769, 65_535] {
            let buffer = pool.take(&packet[..len]).unwrap();
            assert_eq!(buffer.bytes(), &packet[..len]);
            assert!(pool.used() >= len && (len < 256 || pool.used() < 2 * len), "{len}");
            pool.give_back(buffer);
            assert_eq!(pool.used(), 0);
        }
        assert!(pool.take(&packet[..65_536]).is_none());
    }

    #[test]
    fn what_is_taken_again_and_again_is_not_allocated_again() {
        let mut pool = Pool::default();
        for _ in 0..10 {
            let taken: Vec<Buffer> = (0..100).filter_map(|_| pool.take(&[0; 1_500])).collect();
            assert_eq!((taken.len(), pool.memory()), (100, 100 * 2_048));
            taken.into_iter().for_each(|buffer| pool.give_back(buffer));
            assert_eq!(pool.trim(), 0, "it was needed just now");
        }
        assert_eq!(pool.trim(), 100 * 2_048);
        assert_eq!(pool.memory(), 0, "unused for a while");
    }

    #[test]
    fn what_waits_stays_when_the_rest_goes() {
        let mut pool = Pool::default();
        let first = pool.take(&[1; 1_500]).unwrap();
        let second = pool.take(&[2; 1_500]).unwrap();
        pool.give_back(second);
        pool.trim();
        pool.trim();
        assert_eq!((first.bytes(), pool.memory()), (&[1; 1_500][..], 2_048));
    }
}
