//! The devices, MTUs, addresses, routes and policy rules that mptd makes, compared with those that are there.

use ipnet::IpNet;
use mpt_api::Snapshot;
use mpt_config::{Config, Fallback};
use mpt_linux::netlink::{
    BLOCK_RULE_PRIORITY, Error, MAIN_TABLE, Netlink, PATH_RULE_PRIORITY, Route, Rule,
    TUNNEL_RULE_PRIORITY,
};

use super::{Findings, Level};

/// The remedy of everything that mptd puts back by itself.
const PUT_BACK: &str = "mptd puts it back within a second; if this does not help, its log says why, and `ip monitor rule route` shows who removes it";

/// Compares. `snapshot` is what the daemon of this host says, if one runs.
pub(super) fn check(config: &Config, snapshot: Option<&Snapshot>, found: &mut Findings) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    // That netlink does not work is said elsewhere.
    let Ok(runtime) = runtime else { return };
    let compared = runtime.block_on(async {
        let kernel = Kernel::ask().await?;
        match snapshot {
            Some(snapshot) => running(&kernel, config, snapshot, found).await,
            None => {
                not_running(&kernel, config, found);
                Ok(())
            }
        }
    });
    if let Err(error) = compared {
        found.add(Level::Note, "system", format!("not compared: {error}"), "run this as root");
    }
}

/// The capabilities of the kernel.
struct Kernel {
    netlink: Netlink,
    rules: Vec<Rule>,
    routes: Vec<Route>,
}

impl Kernel {
    async fn ask() -> Result<Self, Error> {
        let netlink = Netlink::connect()?;
        let (rules, routes) = (netlink.own_rules().await?, netlink.own_routes().await?);
        Ok(Self { netlink, rules, routes })
    }

    /// The networks that have a guard.
    fn guards(&self) -> impl Iterator<Item = &IpNet> {
        self.routes.iter().filter(|route| route.is_guard()).map(|route| &route.destination)
    }

    /// The rules of the default routes with this mark and version of IP.
    fn of_default(&self, mark: u32, ipv6: bool) -> impl Iterator<Item = &Rule> {
        let same =
            move |rule: &&Rule| rule.inverted && (rule.mark, rule.ipv6) == (Some(mark), ipv6);
        self.rules.iter().filter(same)
    }
}

async fn running(
    kernel: &Kernel,
    config: &Config,
    snapshot: &Snapshot,
    found: &mut Findings,
) -> Result<(), Error> {
    let before = found.findings.len();
    let addresses = kernel.netlink.addresses().await?;
    let guarded = config.guarded_networks();
    for device in &snapshot.devices {
        let name = &device.name;
        let Ok(link) = kernel.netlink.link(name).await else {
            let message = format!("there is no device {name}, although mptd runs");
            found.add(Level::Error, "device", message, "systemctl restart mptd");
            continue;
        };
        if !link.up {
            let advice =
                format!("ip link set {name} up; mptd then puts its routes and addresses back");
            found.add(Level::Error, "device", format!("{name} is down"), advice);
            continue;
        }
        if device.mtu != 0 && link.mtu != u32::from(device.mtu) {
            let message =
                format!("{name} has an MTU of {}, and should have {}", link.mtu, device.mtu);
            found.add(
                Level::Error,
                "device",
                message,
                format!("ip link set {name} mtu {}", device.mtu),
            );
        }
        for net in &device.addresses {
            if !addresses.iter().any(|it| (it.interface, it.net) == (link.index, *net)) {
                found.add(
                    Level::Error,
                    "device",
                    format!("{name} lacks its address {net}"),
                    PUT_BACK,
                );
            }
        }
        let connections = config.connections.iter().filter(|it| it.device == *name);
        for connection in connections.filter(|it| it.routes && it.direction.sends()) {
            for net in connection.networks.iter().filter(|net| is_routed(net, &device.addresses)) {
                let leads =
                    |it: &Route| (it.destination, it.interface()) == (*net, Some(link.index));
                let in_main = |it: &&Route| it.table == MAIN_TABLE;
                if !kernel.routes.iter().filter(in_main).any(leads) {
                    let message = format!("{}: no route to {net} leads to {name}", connection.name);
                    found.add(Level::Error, "route", message, PUT_BACK);
                }
            }
            for net in connection.networks.iter().filter(|it| guarded.contains(*it)) {
                if !kernel.guards().any(|guard| guard == net) {
                    let message = format!(
                        "{}: {net} lacks the unreachable route that blocks the way around the tunnel",
                        connection.name
                    );
                    found.add(Level::Error, "route", message, PUT_BACK);
                }
            }
            for net in connection.default_routes() {
                let ipv6 = net.addr().is_ipv6();
                default_route(kernel, config, connection, ipv6, link.index, snapshot, found);
            }
        }
    }
    uplinks(kernel, config, found);
    if found.findings.len() == before {
        found.ok("system", "devices, addresses, routes and rules are as mptd made them");
    }
    Ok(())
}

fn default_route(
    kernel: &Kernel,
    config: &Config,
    connection: &mpt_config::Connection,
    ipv6: bool,
    device: u32,
    snapshot: &Snapshot,
    found: &mut Findings,
) {
    let version = if ipv6 { "IPv6" } else { "IPv4" };
    let rules: Vec<&Rule> = kernel.of_default(config.daemon.mark, ipv6).collect();
    let mut lacks = |what: &str| {
        let message = format!("{}: the default route of {version} lacks {what}", connection.name);
        found.add(Level::Error, "rule", message, PUT_BACK);
    };
    if !rules.iter().any(|rule| rule.priority == TUNNEL_RULE_PRIORITY - 1) {
        lacks("the rule that looks into the main table");
    }
    let table = rules.iter().find(|rule| rule.priority == TUNNEL_RULE_PRIORITY);
    let blocks = connection.fallback == Fallback::Block;
    match table.and_then(|rule| rule.table()) {
        None => lacks("the rule that leads into the tunnel"),
        Some(table) => {
            let mut routes = kernel.routes.iter().filter(|route| route.table == table);
            // With "direct" it is there while a path works.
            let is_up = snapshot.connections.iter().any(|it| {
                it.name == connection.name && it.state != mpt_api::snapshot::ConnectionState::Down
            });
            if (blocks || is_up) && !routes.any(|route| route.interface() == Some(device)) {
                lacks("its route to the device");
            }
        }
    }
    if blocks && !rules.iter().any(|rule| rule.is_block()) {
        lacks(&format!("the rule that blocks the way around the tunnel ({BLOCK_RULE_PRIORITY})"));
    }
}

/// Interfaces that paths name have two rules for each version of IP that travels there.
fn uplinks(kernel: &Kernel, config: &Config, found: &mut Findings) {
    let paths = config.connections.iter().flat_map(|it| &it.paths);
    let mut seen = Vec::new();
    for path in paths {
        let Some(interface) = &path.interface else { continue };
        let ipv6 = path.is_ipv6();
        if seen.contains(&(interface, ipv6)) {
            continue;
        }
        seen.push((interface, ipv6));
        let of_it = |rule: &&Rule| (rule.output.as_ref(), rule.ipv6) == (Some(interface), ipv6);
        let missing = |priority: &u32| {
            !kernel.rules.iter().filter(of_it).any(|rule| rule.priority == *priority)
        };
        for priority in [PATH_RULE_PRIORITY - 1, PATH_RULE_PRIORITY].iter().filter(|it| missing(it))
        {
            let version = if ipv6 { "IPv6" } else { "IPv4" };
            let message = format!(
                "the rule {priority} of {version} for packets out of {interface} is missing"
            );
            found.add(Level::Error, "rule", message, PUT_BACK);
        }
    }
}

/// Says that a daemon that was killed has left a block or guards.
fn not_running(kernel: &Kernel, config: &Config, found: &mut Findings) {
    let guards: Vec<String> = kernel.guards().map(ToString::to_string).collect();
    if !guards.is_empty() {
        let message = format!(
            "mptd does not run, and what is meant for {} is blocked (fallback = \"block\")",
            guards.join(", ")
        );
        found.add(Level::Error, "blocked", message, "start mptd, or open the way: mptd --unblock");
    }
    for ipv6 in [false, true] {
        if kernel.of_default(config.daemon.mark, ipv6).any(Rule::is_block) {
            let version = if ipv6 { "IPv6" } else { "IPv4" };
            let message = format!(
                "mptd does not run, and what is meant for its default route of {version} is blocked (fallback = \"block\")"
            );
            found.add(
                Level::Error,
                "blocked",
                message,
                "start mptd, or open the way: mptd --unblock",
            );
        }
    }
}

/// True if mptd makes a route of its own in the main table. The networks of the device's addresses have that of the kernel, and link-local and
/// multicast ones need none.
fn is_routed(net: &IpNet, own: &[IpNet]) -> bool {
    let local = match net.addr() {
        std::net::IpAddr::V4(address) => address.is_link_local() || address.is_multicast(),
        std::net::IpAddr::V6(address) => address.is_unicast_link_local() || address.is_multicast(),
    };
    net.prefix_len() > 0 && !local && !own.iter().any(|own| own.trunc() == *net)
}
