//! Warnings of a kernel that takes the packets of the other end for forged (strict reverse path filtering, RFC 3704).
//!
//! The kernel then drops what comes in by another interface than that by which it would answer. It does not know that the answers of a path that names
//! its interface leave there: its own look-up has neither our mark nor our socket.

use std::net::IpAddr;

use crate::netlink::{Netlink, Query};
use crate::sysctl::reverse_path_filter;

/// Strict filtering, as `rp_filter` says it.
const STRICT: u8 = 1;

/// Returns what would be dropped, and what to write, with every interface once. `paths` are those bound to an interface: its name, the local address
/// if it is known, and the remote one. `takes_internet` says whether the default route of IPv4 is to lead into a tunnel.
pub async fn warnings<'a>(
    netlink: &Netlink,
    paths: impl Iterator<Item = (&'a str, Option<IpAddr>, IpAddr)>,
    takes_internet: bool,
) -> Vec<String> {
    let mut interfaces: Vec<&str> = Vec::new();
    let mut warnings = Vec::new();
    for (interface, local, remote) in paths {
        if !remote.is_ipv4()
            || interfaces.contains(&interface)
            || reverse_path_filter(interface) != Some(STRICT)
        {
            continue;
        }
        if is_dropped(netlink, interface, local, remote, takes_internet).await {
            interfaces.push(interface);
            warnings.push(format!(
                "strict rp_filter on {interface} drops what arrives there from {remote}, since the main route to it leaves by another interface; \
                 write net.ipv4.conf.{interface}.rp_filter = 2 into /etc/sysctl.d/mpt.conf and run sysctl --system"
            ));
        }
    }
    warnings
}

/// Returns the [`warnings`] for a program without a runtime; none where the system does not tell.
pub fn check<'a>(
    paths: impl Iterator<Item = (&'a str, Option<IpAddr>, IpAddr)>,
    takes_internet: bool,
) -> Vec<String> {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    runtime.block_on(async {
        let Ok(netlink) = Netlink::connect() else { return Vec::new() };
        warnings(&netlink, paths, takes_internet).await
    })
}

async fn is_dropped(
    netlink: &Netlink,
    interface: &str,
    local: Option<IpAddr>,
    remote: IpAddr,
    takes_internet: bool,
) -> bool {
    let Ok(link) = netlink.link(interface).await else { return false };
    match netlink.way_out(Query { source: local, ..Query::to(remote) }).await {
        Ok(found) if found != link.index => true,
        // The default route leads there, until the tunnel has it.
        Ok(_) => takes_internet && is_by_default(netlink, remote, link.index).await,
        Err(_) => true,
    }
}

async fn is_by_default(netlink: &Netlink, remote: IpAddr, interface: u32) -> bool {
    let route = netlink.route_by(remote, interface).await;
    route.is_ok_and(|route| route.is_none_or(|route| route.destination.prefix_len() == 0))
}
