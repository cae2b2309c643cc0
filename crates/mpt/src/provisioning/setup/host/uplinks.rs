//! The uplinks of this host: every interface with a default route.

use std::net::IpAddr;

use ipnet::IpNet;
use mpt_linux::netlink::{Error, Netlink};

use crate::client::Failed;

/// Kinds of interfaces that are tunnels themselves: no path goes through another tunnel unless that is asked for.
const TUNNELS: [&str; 2] = ["tun", "wireguard"];

/// An interface with a default route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Uplink {
    /// Name of the interface.
    pub(crate) name: String,
    /// Its addresses, without those of the link.
    pub(crate) addresses: Vec<IpAddr>,
    /// The versions of IP for which it has a default route.
    pub(crate) ipv4: bool,
    pub(crate) ipv6: bool,
    /// The metric of its best default route.
    metric: u32,
}

/// The networks and uplinks that this host already uses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used {
    /// The uplinks, the one with the best metric first.
    pub(crate) uplinks: Vec<Uplink>,
    /// Every network of an address or a route, without default routes.
    pub(crate) networks: Vec<IpNet>,
}

/// Asks the kernel.
///
/// # Errors
///
/// The kernel does not answer.
pub(crate) fn look() -> Result<Used, Failed> {
    ask_kernel(ask())
}

/// Waits for an answer of the kernel.
///
/// # Errors
///
/// The kernel does not answer.
pub(crate) fn ask_kernel<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, Failed> {
    let failed = |why: String| Failed::File(format!("the network cannot be looked at: {why}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(error.to_string()))?;
    runtime.block_on(answer).map_err(|error| failed(error.to_string()))
}

async fn ask() -> Result<Used, Error> {
    let netlink = Netlink::connect()?;
    let addresses = netlink.addresses().await?;
    let mut used = Used::default();
    used.networks.extend(addresses.iter().map(|address| address.net.trunc()));
    for link in netlink.links().await? {
        let mut uplink = Uplink {
            name: link.name.clone(),
            addresses: addresses
                .iter()
                .filter(|it| it.interface == link.index)
                .filter(|it| !mpt_config::is_link_local(&it.net))
                .map(|it| it.net.addr())
                .collect(),
            ipv4: false,
            ipv6: false,
            metric: u32::MAX,
        };
        for ipv6 in [false, true] {
            for route in netlink.routes_by(link.index, ipv6).await? {
                if route.destination.prefix_len() > 0 {
                    used.networks.push(route.destination);
                    continue;
                }
                if ipv6 {
                    uplink.ipv6 = true;
                } else {
                    uplink.ipv4 = true;
                }
                uplink.metric = uplink.metric.min(route.metric.unwrap_or(0));
            }
        }
        let is_tunnel = link.kind.as_deref().is_some_and(|kind| TUNNELS.contains(&kind));
        if (uplink.ipv4 || uplink.ipv6) && !is_tunnel && link.up && !link.holds_addresses {
            used.uplinks.push(uplink);
        }
    }
    used.uplinks.sort_by(|a, b| (a.metric, &a.name).cmp(&(b.metric, &b.name)));
    Ok(used)
}
