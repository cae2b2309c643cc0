//! Settings of the kernel that decide whether our packets arrive. They are read, never written: they are the administrator's.

use std::fs;

/// Returns how strictly the kernel looks at the source of IPv4 packets that come in by `interface` (`rp_filter`, RFC 3704): 0 not at all, 1 strictly (the answer would have to leave by the same interface),
/// 2 loosely (there has to be some route). `None` where the system does not tell, or there is no such interface.
#[must_use]
pub fn reverse_path_filter(interface: &str) -> Option<u8> {
    let read = |name: &str| -> Option<u8> {
        let text = fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{name}/rp_filter")).ok()?;
        text.trim().parse().ok()
    };
    // The kernel takes the larger one.
    read(interface).zip(read("all")).map(|(own, all)| own.max(all))
}

/// Returns whether the host forwards packets (`net.ipv4.ip_forward`,
/// `net.ipv6.conf.all.forwarding`), or `None` where the system does not tell.
#[must_use]
pub fn forwarding(ipv6: bool) -> Option<bool> {
    let file = if ipv6 { "ipv6/conf/all/forwarding" } else { "ipv4/ip_forward" };
    let text = fs::read_to_string(format!("/proc/sys/net/{file}")).ok()?;
    Some(text.trim() != "0")
}
