//! The owners of rules and routes.

/// Marks the routes (`rtm_protocol`) and rules (`FRA_PROTOCOL`) that we created: `ip route show
/// proto 109`. Not assigned in the kernel's `rtnetlink.h` nor in iproute2's `rt_protos`.
pub const PROTOCOL: u8 = 109;

/// The owner of the rules and routes that the kernel makes (`RTPROT_KERNEL`).
pub(in crate::netlink) const KERNEL: u8 = 2;
