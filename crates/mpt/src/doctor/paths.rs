//! The way of each path out of this host: its interface, its address, its MTU, its route; and whether packets are passed on.

use std::net::{IpAddr, ToSocketAddrs};

use mpt_config::{Config, Connection, Path};
use mpt_core::path::mtu::IPV6_MINIMUM;
use mpt_linux::netlink::{LinkInfo, Netlink, Query};
use mpt_linux::reverse_path;
use mpt_linux::sysctl;

use super::{Findings, Level};

pub(super) fn check(config: &Config, found: &mut Findings) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let connected = runtime.and_then(|runtime| {
        let netlink = runtime.block_on(async { Netlink::connect() });
        Ok((runtime, netlink.map_err(std::io::Error::other)?))
    });
    match connected {
        Ok((runtime, netlink)) => {
            for connection in &config.connections {
                for path in &connection.paths {
                    runtime.block_on(way(&netlink, connection, path, found));
                }
            }
        }
        Err(error) => found.add(
            Level::Error,
            "netlink",
            format!("the kernel does not tell of its interfaces: {error}"),
            "AF_NETLINK has to be allowed",
        ),
    }
    let filters = reverse_path::check(config.bound_paths(), config.takes_internet(false));
    if filters.is_empty() {
        found.ok("rp_filter", "drops nothing that comes in on a path");
    }
    for message in filters {
        let (message, advice) = message.split_once("; write ").unwrap_or((&message, ""));
        found.add(Level::Error, "rp_filter", message, format!("write {advice}"));
    }
    forwarding(config, found);
}

async fn way(netlink: &Netlink, connection: &Connection, path: &Path, found: &mut Findings) {
    let name = format!("{} {}", connection.name, path.name);
    let Some(link) = link(netlink, path, &name, found).await else { return };
    if !link.up {
        let advice = format!("ip link set {} up", link.name);
        return found.add(Level::Error, "link", format!("{name}: {} is down", link.name), advice);
    }
    if !link.running {
        let message = format!("{name}: {} has no carrier", link.name);
        return found.add(
            Level::Error,
            "link",
            message,
            "look at the cable, the modem or the access point",
        );
    }
    found.ok("link", format!("{name}: {} is up", link.name));
    mtu(connection, path, &link, &name, found);
    if let Some(remote) = remote(path, &name, found) {
        route(netlink, path, &link, remote, &name, found).await;
    }
}

/// The interface of a path, if there is one.
async fn link(
    netlink: &Netlink,
    path: &Path,
    name: &str,
    found: &mut Findings,
) -> Option<LinkInfo> {
    if let Some(interface) = &path.interface {
        let link = netlink.link(interface).await;
        return link
            .inspect_err(|error| {
                let advice = "ip link shows which there are; the path waits until this one comes";
                found.add(Level::Error, "link", format!("{name}: {error}"), advice);
            })
            .ok();
    }
    let local = path.local?;
    if let Ok(Some(index)) = netlink.interface_of(local).await {
        return netlink.link_by_index(index).await.ok();
    }
    let advice = "ip addr shows which there are; where DHCP gives the address, write interface = \"...\" instead of local";
    found.add(Level::Error, "address", format!("{name}: no interface has {local}"), advice);
    None
}

fn mtu(connection: &Connection, path: &Path, link: &LinkInfo, name: &str, found: &mut Findings) {
    let of_link = u16::try_from(link.mtu).unwrap_or(u16::MAX);
    let mtu = path.mtu.unwrap_or(of_link);
    if mtu > of_link {
        let message =
            format!("{name}: mtu {mtu}, but {} takes packets of {of_link} bytes", link.name);
        return found.add(Level::Error, "mtu", message, format!("write mtu = {of_link} or less"));
    }
    let inner = mtu.saturating_sub(connection.overhead(path));
    let needs_v6 = connection.networks.iter().any(|net| net.addr().is_ipv6());
    if needs_v6 && inner < IPV6_MINIMUM {
        let message =
            format!("{name}: packets of {inner} bytes inside, and IPv6 needs {IPV6_MINIMUM}");
        return found.add(Level::Error, "mtu", message, "a path with a larger MTU");
    }
    found.ok("mtu", format!("{name}: {mtu} bytes outside, {inner} inside"));
}

/// Returns the address to which the path leads; `None` where the session finds it, or its name is not resolved.
fn remote(path: &Path, name: &str, found: &mut Findings) -> Option<IpAddr> {
    let Some(host) = path.remote.name() else { return path.remote.address() };
    let fits =
        |address: &IpAddr| path.local.is_none_or(|local| local.is_ipv4() == address.is_ipv4());
    let all = (host, path.remote_port).to_socket_addrs();
    let advice = "check the spelling in remote, and /etc/resolv.conf; the resolver has to be reachable without the tunnel";
    match all.map(|all| all.map(|it| it.ip()).find(fits)) {
        Ok(Some(address)) => {
            found.ok("name", format!("{name}: {host} is {address}"));
            Some(address)
        }
        Ok(None) => {
            let message = format!("{name}: {host} has no address of the family of local");
            found.add(Level::Error, "name", message, "another name, or another local address");
            None
        }
        Err(error) => {
            let message = format!("{name}: the name {host} cannot be resolved: {error}");
            found.add(Level::Error, "name", message, advice);
            None
        }
    }
}

async fn route(
    netlink: &Netlink,
    path: &Path,
    link: &LinkInfo,
    remote: IpAddr,
    name: &str,
    found: &mut Findings,
) {
    let there = if path.interface.is_some() {
        netlink.route_by(remote, link.index).await.map(|route| route.is_some())
    } else {
        let query = Query { source: path.local, ..Query::to(remote) };
        netlink.way_out(query).await.map(|_| true)
    };
    match there {
        Ok(true) => found.ok("route", format!("{name}: there is one to {remote}")),
        Ok(false) => found.add(
            Level::Error,
            "route",
            format!("{name}: {} has neither a route nor a default route to {remote}", link.name),
            format!("ip route add default via GATEWAY dev {} metric 1000", link.name),
        ),
        Err(error) => {
            let advice = format!("ip route get {remote}");
            found.add(Level::Error, "route", format!("{name}: {error}"), advice);
        }
    }
}

/// Checks that packets of networks behind this host, and of clients, are forwarded.
fn forwarding(config: &Config, found: &mut Findings) {
    let nets = config.connections.iter().flat_map(|it| &it.networks);
    let behind = |v6: bool| {
        nets.clone()
            .any(|net| net.addr().is_ipv6() == v6 && net.prefix_len() < net.max_prefix_len())
            || config
                .clients
                .iter()
                .any(|it| it.networks.iter().any(|net| net.addr().is_ipv6() == v6))
    };
    // A host that asks a server for its connections has most often no network behind it.
    let asks = |it: &Connection| it.peer.as_ref().is_some_and(|peer| peer.create);
    let alone = config.clients.is_empty() && config.connections.iter().all(asks);
    let level = if alone { Level::Note } else { Level::Warning };
    for (v6, key) in [(false, "net.ipv4.ip_forward"), (true, "net.ipv6.conf.all.forwarding")] {
        match sysctl::forwarding(v6) {
            Some(false) if behind(v6) => found.add(
                level,
                "forward",
                format!("{key} = 0: only this host itself can use the tunnel, no network behind it"),
                format!("if there is one: write {key} = 1 into /etc/sysctl.d/mpt.conf and run sysctl --system"),
            ),
            Some(true) if behind(v6) => found.ok("forward", format!("{key} = 1")),
            _ => {}
        }
    }
}
