//! Buffers that are divided into pages: which of their pages are free.

/// Pages of a buffer.
pub(super) const PAGES_PER_BUFFER: u32 = 4;
/// All pages of a buffer, as bits.
const ALL: u8 = (1 << PAGES_PER_BUFFER) - 1;
/// Instead of the free pages of a buffer: it is not divided.
const WHOLE: u8 = u8::MAX;

/// The free pages. A page is known by its number among those of all buffers. Every call takes constant time and no memory.
#[derive(Debug)]
pub(in crate::data) struct Pages {
    /// Free pages of each buffer as bits, or [`WHOLE`].
    free: Vec<u8>,
    /// Divided buffers with free pages.
    partial: Vec<u32>,
    /// The place of each buffer in `partial`, if it has one.
    place: Vec<u32>,
}

impl Pages {
    /// Returns the pages of so many buffers, of which none is divided.
    pub(in crate::data) fn new(buffers: usize) -> Self {
        Self {
            free: vec![WHOLE; buffers],
            partial: Vec::with_capacity(buffers),
            place: vec![0; buffers],
        }
    }

    /// True if a buffer is divided.
    #[inline]
    pub(super) fn is_divided(&self, buffer: u32) -> bool {
        self.free[buffer as usize] != WHOLE
    }

    /// True if a page is free without dividing another buffer.
    #[inline]
    pub(in crate::data) fn has_any(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Takes a page, of one of the free `buffers` where no divided one has any.
    pub(in crate::data) fn take(&mut self, buffers: &mut Vec<u32>) -> Option<u32> {
        let buffer = match self.partial.last() {
            Some(&buffer) => buffer,
            None => {
                let buffer = buffers.pop()?;
                self.free[buffer as usize] = ALL;
                self.add(buffer);
                buffer
            }
        };
        let free = &mut self.free[buffer as usize];
        let page = free.trailing_zeros();
        *free &= *free - 1;
        if *free == 0 {
            self.partial.pop();
        }
        Some(buffer * PAGES_PER_BUFFER + page)
    }

    /// Gives back a page. A buffer all of whose pages are free is no longer divided, and one of the free `buffers`.
    pub(super) fn give_back(&mut self, page: u32, buffers: &mut Vec<u32>) {
        let buffer = page / PAGES_PER_BUFFER;
        let free = &mut self.free[buffer as usize];
        let before = std::mem::replace(free, *free | 1 << (page % PAGES_PER_BUFFER));
        if before == 0 {
            self.add(buffer);
        }
        if self.free[buffer as usize] == ALL {
            self.free[buffer as usize] = WHOLE;
            self.remove(buffer);
            buffers.push(buffer);
        }
    }

    fn add(&mut self, buffer: u32) {
        self.place[buffer as usize] = self.partial.len() as u32;
        self.partial.push(buffer);
    }

    fn remove(&mut self, buffer: u32) {
        let place = self.place[buffer as usize];
        self.partial.swap_remove(place as usize);
        if let Some(&moved) = self.partial.get(place as usize) {
            self.place[moved as usize] = place;
        }
    }
}
