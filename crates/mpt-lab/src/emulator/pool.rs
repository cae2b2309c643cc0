//! Frames on their way, in buffers that are used again and again.

use mpt_linux::tap::READ_LEN;

use super::frame::Shape;

/// Sizes of buffers: acknowledgments, frames of the usual MTU, small super-packets, anything.
const SIZES: [usize; 4] = [256, 2048, 16 * 1024, READ_LEN];

/// Bytes of all buffers together: 1 Gbit/s for 4 seconds, or 10 Gbit/s for 400 ms.
pub(super) const MOST_BYTES: usize = 512 * 1024 * 1024;

/// The frames on their way.
#[derive(Debug)]
pub(super) struct Pool {
    frames: Vec<Frame>,
    /// Indices of unused frames.
    free: Vec<u32>,
    /// Buffers that are not in use, by [`SIZES`].
    spare: [Vec<Box<[u8]>>; SIZES.len()],
    allocated: usize,
    /// Most bytes that may be allocated.
    most: usize,
}

/// A frame on its way, by its number in the [`Pool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FrameId(u32);

/// A frame with its virtio-net header.
#[derive(Debug)]
pub(super) struct Frame {
    buffer: Box<[u8]>,
    length: usize,
    /// The frames that it stands for.
    pub(super) shape: Shape,
    /// Its direction.
    pub(super) direction: u32,
    /// The number of times it is still to be used.
    uses: u32,
}

impl Frame {
    /// Returns its bytes, virtio-net header first.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

impl Pool {
    /// Returns an empty pool of at most `most` bytes of buffers, see [`MOST_BYTES`].
    pub(super) fn new(most: usize) -> Self {
        let spare = Default::default();
        Self { frames: Vec::new(), free: Vec::new(), spare, allocated: 0, most }
    }

    /// Takes a frame that has been read into the first `length` bytes of `buffer`, which has [`READ_LEN`] bytes before and after. The frame is to be
    /// used once ([`Self::release`]). Returns `None` if no more memory may be used.
    pub(super) fn take(
        &mut self,
        buffer: &mut Box<[u8]>,
        length: usize,
        direction: u32,
    ) -> Option<FrameId> {
        let size = SIZES.iter().position(|&size| length <= size)?;
        let mut own = self.buffer(size)?;
        if size == SIZES.len() - 1 {
            // Copying one of these would cost as much as reading it did.
            std::mem::swap(buffer, &mut own);
        } else {
            own[..length].copy_from_slice(&buffer[..length]);
        }
        let shape = Shape::of(&mut own[..length]);
        let frame = Frame { buffer: own, length, shape, direction, uses: 1 };
        if let Some(index) = self.free.pop() {
            self.frames[index as usize] = frame;
            return Some(FrameId(index));
        }
        self.frames.push(frame);
        Some(FrameId(u32::try_from(self.frames.len() - 1).ok()?))
    }

    pub(super) fn get(&self, id: FrameId) -> &Frame {
        &self.frames[id.0 as usize]
    }

    /// Adds a use of the frame.
    pub(super) fn retain(&mut self, id: FrameId) {
        self.frames[id.0 as usize].uses += 1;
    }

    /// Ends a use of the frame. After the last one its buffer serves for another frame.
    pub(super) fn release(&mut self, id: FrameId) {
        let frame = &mut self.frames[id.0 as usize];
        frame.uses -= 1;
        if frame.uses == 0 {
            let buffer = std::mem::take(&mut frame.buffer);
            let size = SIZES.iter().position(|&size| size == buffer.len()).unwrap_or(0);
            self.spare[size].push(buffer);
            self.free.push(id.0);
        }
    }

    /// Returns the number of frames that are still to be used.
    #[cfg(test)]
    pub(super) fn in_use(&self) -> usize {
        self.frames.len() - self.free.len()
    }

    fn buffer(&mut self, size: usize) -> Option<Box<[u8]>> {
        if let Some(buffer) = self.spare[size].pop() {
            return Some(buffer);
        }
        // Spare buffers of other sizes are kept: a link's mixture of frames does not change much.
        let bytes = SIZES[size];
        (self.allocated + bytes <= self.most).then(|| {
            self.allocated += bytes;
            vec![0; bytes].into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again_and_bounded() {
        let mut pool = Pool::new(10 * READ_LEN + 255);
        let mut buffer: Box<[u8]> = vec![7; READ_LEN].into();
        let mut ids = Vec::new();
        while let Some(id) = pool.take(&mut buffer, READ_LEN, 0) {
            assert_eq!(buffer.len(), READ_LEN);
            ids.push(id);
        }
        assert_eq!(ids.len(), 10);
        assert!(pool.take(&mut buffer, 256, 0).is_none(), "less than that is left");
        for id in ids {
            pool.retain(id);
            pool.release(id);
            assert_eq!(pool.get(id).bytes().len(), READ_LEN);
            pool.release(id);
        }
        assert_eq!(pool.in_use(), 0);
        let allocated = pool.allocated;
        pool.take(&mut buffer, READ_LEN, 0).unwrap();
        assert_eq!(pool.allocated, allocated);
    }

    #[test]
    fn frames_of_all_sizes_keep_their_bytes() {
        let mut pool = Pool::new(MOST_BYTES);
        let mut buffer: Box<[u8]> = vec![0; READ_LEN].into();
        let mut ids = Vec::new();
        for length in [10, 256, 257, 2048, 16_384, 16_385, READ_LEN] {
            buffer[..length].fill(length as u8);
            ids.push((pool.take(&mut buffer, length, 3).unwrap(), length));
        }
        for (id, length) in ids {
            assert_eq!(pool.get(id).bytes(), vec![length as u8; length]);
            assert_eq!(pool.get(id).direction, 3);
        }
    }
}
