//! The part of the stack that is erased when keys end.

/// Bytes of the stack that are overwritten when a handshake or a session ends: more than sealing,
/// opening and a multiplication on the curve use, and little compared with what the multiplication
/// takes.
pub(crate) const STACK: usize = 32 * 1024;
