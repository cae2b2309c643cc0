//! `mpt setup site`: joins the networks behind two routers. The first router is set up as a server for one client, and prints the command for
//! the second one, which joins it.

use std::io::Write;

use ipnet::IpNet;

use super::args::{self, Join, Server, Site};
use super::host::nat::{self, Router};
use super::host::service::Service;
use super::host::uplinks;
use super::purpose::Purpose;
use super::server;
use crate::client::Failed;
use crate::command_line::args::Daemon;
use crate::provisioning::join;

/// Sets up this router, as the first or the second one.
pub(crate) fn setup(wanted: &Site, daemon: &Daemon, out: &mut impl Write) -> Result<(), Failed> {
    match &wanted.line {
        Some(line) => second(wanted, line, daemon, out),
        None => first(wanted, daemon, out),
    }
}

fn first(wanted: &Site, daemon: &Daemon, out: &mut impl Write) -> Result<(), Failed> {
    let (here, there) = (&wanted.here, &wanted.there);
    if here.is_empty() || there.is_empty() {
        return Err(Failed::Usage(
            "name the network behind this router with --here and the one behind the other router with --there, such as --here 192.168.1.0/24 \
             --there 192.168.2.0/24"
                .into(),
        ));
    }
    let overlap = |a: &IpNet, b: &IpNet| a.contains(b) || b.contains(a);
    for one in here {
        if let Some(other) = there.iter().find(|other| overlap(one, other)) {
            return Err(Failed::Usage(format!(
                "{one} and {other} overlap, so that nobody knows where an address is; give one of both sites other addresses"
            )));
        }
    }
    let known = uplinks::look()?.networks;
    for network in here {
        if !known.iter().any(|it| overlap(it, network)) {
            writeln!(out, "note: this router has no address and no route in {network} yet")?;
        }
    }
    if let Some(network) = there.iter().find(|network| known.iter().any(|it| overlap(it, network)))
    {
        return Err(Failed::Usage(format!(
            "{network} is in use at this router, so it is not behind the other one"
        )));
    }
    let server = Server {
        place: wanted.place.clone(),
        address: wanted.address.clone(),
        listen: wanted.listen.clone(),
        port: wanted.port,
        pool: wanted.pool,
        networks: here.clone(),
        client: args::Client { client: Some(wanted.name.clone()), lifetime: wanted.lifetime },
        start: wanted.start,
        dry_run: wanted.dry_run,
    };
    server::setup(&server, daemon, &Purpose::Site { there: there.clone() }, out)
}

fn second(wanted: &Site, line: &str, daemon: &Daemon, out: &mut impl Write) -> Result<(), Failed> {
    if !(wanted.here.is_empty() && wanted.there.is_empty()) {
        return Err(Failed::Usage(
            "the line says which networks are behind both routers; leave --here and --there out"
                .into(),
        ));
    }
    let join = Join {
        line: line.to_owned(),
        place: wanted.place.clone(),
        uplinks: Vec::new(),
        networks: Vec::new(),
        // Networks of a site are reached through the tunnel or not at all.
        fallback: Some(args::Fallback::Block),
        dns: Vec::new(),
        no_dns: true,
        start: wanted.start,
        dry_run: wanted.dry_run,
    };
    let service = Service::choose(wanted.start, &wanted.place)?;
    if !wanted.dry_run
        && let Some(advice) = nat::in_the_way(&Purpose::Site { there: Vec::new() })
    {
        writeln!(out, "{advice}")?;
    }
    join::run(&join, &Router { service: &service }, daemon, out)
}
