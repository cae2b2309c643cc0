//! The tokens by which the poller names descriptors.

/// The meaning of a poller token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// Commands from the control side are waiting.
    Waker,
    /// A TUN device, by its index.
    Device(u16),
    /// A UDP socket, by its index.
    Socket(u32),
    /// A UDP socket for commands of the papers' prototype, by its index.
    Command(u32),
}

impl From<Token> for u64 {
    fn from(token: Token) -> u64 {
        match token {
            Token::Waker => 0,
            Token::Device(index) => 1 << 32 | u64::from(index),
            Token::Socket(index) => 2 << 32 | u64::from(index),
            Token::Command(index) => 3 << 32 | u64::from(index),
        }
    }
}

impl From<u64> for Token {
    fn from(value: u64) -> Token {
        match value >> 32 {
            1 => Token::Device(value as u16),
            2 => Token::Socket(value as u32),
            3 => Token::Command(value as u32),
            _ => Token::Waker,
        }
    }
}
