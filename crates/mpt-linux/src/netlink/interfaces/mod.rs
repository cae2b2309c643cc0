//! Network interfaces of the kernel: links, their addresses, and virtual Ethernet pairs.

pub(super) mod address;
pub(super) mod link;
pub(super) mod veth;
