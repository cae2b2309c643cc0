//! The memory of packets: buffers that are received into, their pages, the shares of their owners, and the packets that wait in queues.

pub(super) mod buffers;
mod pages;
mod pool;
pub(super) mod shares;
pub(super) mod store;
