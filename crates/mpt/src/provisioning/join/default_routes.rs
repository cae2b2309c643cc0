//! The check that default routes lead into the tunnel, as the kernel decides it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use mpt_api::Connection;
use mpt_linux::netlink::{Error, Netlink, Query};

use crate::client::Failed;
use crate::provisioning::setup::host::uplinks;

/// Addresses of networks that are set aside for documentation (RFC 5737, RFC 3849, RFC 9637), so that hardly a host has a route of its own to them.
const ELSEWHERE: [IpAddr; 5] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)),
    IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 1)),
];

/// Returns the default routes of a connection past which packets leave now, although they are meant for its device.
///
/// # Errors
///
/// The kernel does not answer.
pub(super) fn passed(connection: &Connection) -> Result<Vec<IpNet>, Failed> {
    let is_default = |network: &&IpNet| network.prefix_len() == 0;
    let mut defaults = connection.networks.iter().filter(is_default).peekable();
    if defaults.peek().is_none() {
        return Ok(Vec::new());
    }
    let used = uplinks::look()?.networks;
    let only_default = |address: &IpAddr| !used.iter().any(|network| network.contains(address));
    let asked: Vec<(IpNet, IpAddr)> = defaults
        .filter_map(|&network| {
            let there = |address: &&IpAddr| network.contains(*address) && only_default(address);
            ELSEWHERE.iter().find(there).map(|&address| (network, address))
        })
        .collect();
    uplinks::ask_kernel(not_into(&connection.device, &asked))
}

/// Returns the networks of which the packet to the address beside them would leave by another interface than the device.
async fn not_into(device: &str, asked: &[(IpNet, IpAddr)]) -> Result<Vec<IpNet>, Error> {
    let netlink = Netlink::connect()?;
    let device = netlink.link(device).await?.index;
    let mut passed = Vec::new();
    for &(network, address) in asked {
        // What goes nowhere does not go past the tunnel.
        if netlink.way_out(Query::to(address)).await.is_ok_and(|out| out != device) {
            passed.push(network);
        }
    }
    Ok(passed)
}
