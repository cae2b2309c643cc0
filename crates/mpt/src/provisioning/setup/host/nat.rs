//! Forwarding and address translation for what comes out of the tunnel.

use std::path::Path;

use ipnet::IpNet;

use super::kernel_setting;
use super::service::Service;
use crate::client::Failed;
use crate::doctor;
use crate::provisioning::setup::purpose::{DEVICE, Purpose};
use crate::provisioning::setup::step::Step;
use crate::provisioning::setup::step::extra::Extra;

/// The nftables table that is made. Nothing else is in it, so that removing it removes exactly this.
const TABLE: &str = "mpt_setup";
/// The settings that have the kernel pass on packets of others, of IPv4 and of IPv6.
const FORWARDING: [&str; 2] = ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"];
/// The directory in which systemd looks for additions to the unit of the daemon.
const DROP_IN: &str = "/etc/systemd/system/mptd.service.d";

/// Returns what has to be made, so that it also holds after the next boot where systemd starts the daemon.
pub(crate) fn steps(pool: &IpNet, service: &Service, state: &Path) -> Vec<Step> {
    let file = state.join("rules.nft");
    let [ipv4, ipv6] = FORWARDING;
    let forwarding = match pool {
        IpNet::V4(_) => ipv4,
        IpNet::V6(_) => ipv6,
    };
    let mut steps = vec![
        Step::Sysctl { name: forwarding, value: "1" },
        Step::File { path: file.clone(), text: rules(pool) },
        Step::Rules { table: TABLE, file: file.clone() },
    ];
    let rules = format!("ExecStartPre=+/usr/sbin/nft -f {}\n", file.display());
    steps.extend(after_boot(service, &[forwarding], &rules));
    steps
}

/// Returns what has to be made for a router that forwards between its networks and these: no address is translated. A version of IP that none of them
/// has is left alone, since a host that forwards IPv6 ignores the routers that it hears.
pub(crate) fn forwarding(networks: &[IpNet], service: &Service) -> Vec<Step> {
    let ipv6 = networks.iter().any(|it| matches!(it, IpNet::V6(_)));
    let ipv4 = networks.iter().any(|it| matches!(it, IpNet::V4(_))) || !ipv6;
    let all = [ipv4, ipv6].into_iter().zip(FORWARDING);
    let names: Vec<_> = all.filter(|it| it.0).map(|it| it.1).collect();
    let mut steps: Vec<Step> = names.iter().map(|name| Step::Sysctl { name, value: "1" }).collect();
    steps.extend(after_boot(service, &names, ""));
    steps
}

/// Returns what to do about a packet filter of this host that probably drops what comes out of the tunnel and what goes into it; `None` where there
/// is none. A table of its own cannot let through what another one drops.
pub(crate) fn in_the_way(purpose: &Purpose) -> Option<String> {
    let chain = doctor::chain_that_forwards_nothing(DEVICE)?;
    let back = match purpose {
        Purpose::Clients => " ct state established,related",
        Purpose::Site { .. } => "",
    };
    Some(format!(
        "A packet filter of this host probably drops what is forwarded from and to the tunnel. Let it through:\n    \
         nft insert rule {chain} iifname {DEVICE} accept\n    \
         nft insert rule {chain} oifname {DEVICE}{back} accept"
    ))
}

/// The second router of a site, which passes packets on between its networks and those of the first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Router<'a> {
    /// The way in which its daemon is started.
    pub(crate) service: &'a Service,
}

impl Extra for Router<'_> {
    /// Checks that this host can forward a version of IP. The server's answer decides which version the networks have; a router that can forward
    /// neither is of no use with any.
    fn check(&self) -> Result<(), Failed> {
        let [ipv4, ipv6] = FORWARDING.map(|name| kernel_setting::check(name, "1"));
        if ipv6.is_ok() { Ok(()) } else { ipv4 }
    }

    fn steps(&self, offered: &[IpNet]) -> Vec<Step> {
        forwarding(offered, self.service)
    }
}

/// Returns what makes settings of the kernel hold after the next boot, where systemd starts the daemon, and does `more` then.
fn after_boot(service: &Service, settings: &[&str], more: &str) -> Vec<Step> {
    if !service.is_of_systemd() {
        return Vec::new();
    }
    // Not by sysctl, whose package a small system lacks. A setting that is 1 already is not written: /proc/sys may be read-only.
    let settings = settings.iter().map(|it| {
        let file = kernel_setting::file(it);
        format!("ExecStartPre=+/bin/sh -c 'grep -qx 1 {0} || echo 1 >{0}'\n", file.display())
    });
    let text = format!("# Made by mpt setup.\n[Service]\n{}{more}", settings.collect::<String>());
    let directory = Path::new(DROP_IN);
    let mut steps = Vec::new();
    if !directory.is_dir() {
        steps.push(Step::Directory { path: directory.to_owned(), of_daemon: false });
    }
    steps.push(Step::File { path: directory.join("mpt-setup.conf"), text });
    steps
}

/// The rules: what comes from clients and leaves by another interface gets the address of this host. Everything else is left to the filters that
/// are there.
fn rules(pool: &IpNet) -> String {
    let family = match pool {
        IpNet::V4(_) => "ip",
        IpNet::V6(_) => "ip6",
    };
    format!(
        "# Made by mpt setup server; mpt setup undo removes it.\n\
         table inet {TABLE}\n\
         delete table inet {TABLE}\n\
         table inet {TABLE} {{\n\
         \tchain postrouting {{\n\
         \t\ttype nat hook postrouting priority srcnat; policy accept;\n\
         \t\t{family} saddr {pool} oifname != \"{DEVICE}\" masquerade\n\
         \t}}\n\
         }}\n"
    )
}
