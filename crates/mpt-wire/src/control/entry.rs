//! Entries of messages: several of a kind in one message, of a fixed number of bytes each.

/// An entry of a message that has several of them, each with a fixed number of bytes.
pub trait Entry: Copy {
    /// The length of one on the wire.
    const LEN: usize;

    /// Reads one of exactly [`LEN`](Self::LEN) bytes.
    ///
    /// # Panics
    ///
    /// If `bytes` are fewer.
    fn decode(bytes: &[u8]) -> Self;

    /// Appends its bytes.
    fn encode(&self, buffer: &mut Vec<u8>);
}
