//! A result that is being put together from its pieces.

use mpt_wire::control::message::MAX_CHUNK_LEN;

/// A result in cells of the longest piece. A cell is filled from its beginning on; a responder may
/// send shorter pieces.
#[derive(Clone, Debug)]
pub(super) struct Assembly {
    result: Vec<u8>,
    /// By cell: how many of its bytes are there.
    filled: Vec<u16>,
    /// The number of incomplete cells.
    missing: usize,
    /// The first cell that was never asked for.
    next: usize,
}

impl Assembly {
    /// A result of that length, of which the first cell is being asked for.
    pub(super) fn new(len: usize) -> Self {
        let cells = len.div_ceil(MAX_CHUNK_LEN);
        Self { result: vec![0; len], filled: vec![0; cells], missing: cells, next: 1 }
    }

    /// Returns the length of the whole result.
    pub(super) fn len(&self) -> usize {
        self.result.len()
    }

    /// Takes what continues a cell from a piece at `offset`, which has to lie within the result;
    /// whether there was anything.
    pub(super) fn fill(&mut self, cell: usize, offset: usize, chunk: &[u8]) -> bool {
        let from = self.position(cell);
        let to = self.end(cell).min(offset + chunk.len());
        if from < offset || from >= to {
            return false;
        }
        let (Some(room), Some(chunk)) =
            (self.result.get_mut(from..to), chunk.get(from - offset..to - offset))
        else {
            return false;
        };
        let (Some(filled), Ok(more)) = (self.filled.get_mut(cell), u16::try_from(to - from)) else {
            return false;
        };
        room.copy_from_slice(chunk);
        *filled += more;
        self.missing -= usize::from(self.is_filled(cell));
        true
    }

    /// The offset of the first byte of a cell that is not there.
    pub(super) fn position(&self, cell: usize) -> usize {
        cell * MAX_CHUNK_LEN + self.filled.get(cell).copied().map_or(0, usize::from)
    }

    /// Returns true if all of a cell is there.
    pub(super) fn is_filled(&self, cell: usize) -> bool {
        self.position(cell) == self.end(cell)
    }

    /// The next cell to ask for.
    pub(super) fn take_next(&mut self) -> Option<usize> {
        let at = (self.next..self.filled.len()).find(|cell| !self.is_filled(*cell));
        self.next = at.map_or(self.filled.len(), |cell| cell + 1);
        at
    }

    /// Returns true if all of the result is there.
    pub(super) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// Returns the result.
    pub(super) fn into_result(self) -> Vec<u8> {
        self.result
    }

    fn end(&self, cell: usize) -> usize {
        self.result.len().min((cell + 1) * MAX_CHUNK_LEN)
    }
}
