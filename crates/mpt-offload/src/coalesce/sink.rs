//! The receiver of finished packets, and the pieces in which it gets them.

use crate::vnet::VnetHeader;

/// Packets in one super-packet: what the kernel takes for UDP (`UDP_MAX_SEGMENTS` was 64 before Linux 6.9), and more than 64 KB
/// hold of full-sized TCP segments.
pub const MAX_PIECES: usize = 64;

/// The receiver of finished packets.
pub trait Sink<H> {
    /// Write one packet or super-packet: `vnet`, then `header`, then the bytes of all `pieces` in order.
    fn write(&mut self, vnet: &VnetHeader, header: &[u8], pieces: &[Piece<H>]);
}

/// Part of a packet that was given to [`Coalescer::push`](super::Coalescer::push).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<H> {
    /// The packet's handle.
    pub handle: H,
    /// First byte, from the start of the packet's IP header.
    pub start: u32,
    /// End, exclusive.
    pub end: u32,
}
