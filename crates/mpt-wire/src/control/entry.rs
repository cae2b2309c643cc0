//! Entries of messages: several of a kind in one message, of a fixed number of bytes each.

/// What a message has several of: a fixed number of bytes each.
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
