//! Warnings of a kernel that takes the packets of the other end for forged (strict reverse path filtering, RFC 3704).
//!
//! The kernel then drops what comes in by another interface than that by which it would answer. It does not know that the answers of a path that names
//! its interface leave there: its own look-up has neither our mark nor our socket.

use mpt_linux::netlink::{Events, Netlink, Query};
use mpt_linux::sysctl::reverse_path_filter;

use super::fallback::takes_internet;
use super::links::Links;
use crate::config::{Config, Path};

/// Strict filtering, as `rp_filter` says it.
const STRICT: u8 = 1;

/// What would be dropped, and what to write, with every interface once.
pub(super) async fn warnings(netlink: &Netlink, config: &Config, links: &Links) -> Vec<String> {
    let mut interfaces: Vec<&str> = Vec::new();
    let mut warnings = Vec::new();
    for path in config.connections.iter().flat_map(|connection| &connection.paths) {
        // The others have rules by their addresses, which the kernel's look-up heeds.
        let known = path.remote.is_ipv4() && !path.remote.is_unspecified();
        let Some(interface) = path.interface.as_deref().filter(|_| known) else {
            continue;
        };
        if interfaces.contains(&interface) || reverse_path_filter(interface) != Some(STRICT) {
            continue;
        }
        if is_dropped(netlink, config, links, path, interface).await {
            interfaces.push(interface);
            warnings.push(format!(
                "strict rp_filter on {interface} drops what arrives there from {}, since the main route to it leaves by another interface; \
                 write net.ipv4.conf.{interface}.rp_filter = 2 into /etc/sysctl.d/mpt.conf and run sysctl --system",
                path.remote
            ));
        }
    }
    warnings
}

async fn is_dropped(
    netlink: &Netlink,
    config: &Config,
    links: &Links,
    path: &Path,
    interface: &str,
) -> bool {
    let Some(link) = links.named(interface) else { return false };
    let query = Query { source: path.local, ..Query::to(path.remote) };
    match netlink.way_out(query).await {
        Ok(found) if found != link.index => true,
        // The default route leads there, until the tunnel has it.
        Ok(_) => takes_internet(config, false) && is_by_default(netlink, path, link.index).await,
        Err(_) => true,
    }
}

async fn is_by_default(netlink: &Netlink, path: &Path, interface: u32) -> bool {
    let route = netlink.route_by(path.remote, interface).await;
    route.is_ok_and(|route| route.is_none_or(|route| route.destination.prefix_len() == 0))
}

/// The same before the daemon runs; nothing where the system does not tell.
pub fn check(config: &Config) -> Vec<String> {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    runtime.block_on(async {
        let (Ok(netlink), Ok(events)) = (Netlink::connect(), Events::connect().await) else {
            return Vec::new();
        };
        warnings(&netlink, config, &Links::new(&events)).await
    })
}
