//! `mpt join`: makes this host a client of the server that a line names.

mod check;
mod config;
mod default_routes;
pub(crate) mod line;
mod register;

use std::io::Write;
use std::net::IpAddr;
use std::path::Path;

use ipnet::IpNet;
use mpt_api::session::Joined;

use crate::client::Failed;
use crate::command_line::args::{Daemon, Status};
use crate::monitoring::status;
use crate::provisioning::setup::args::{Fallback, Join};
use crate::provisioning::setup::host::dns::Dns;
use crate::provisioning::setup::host::service::Service;
use crate::provisioning::setup::host::uplinks::{self, Uplink};
use crate::provisioning::setup::questions;
use crate::provisioning::setup::step::extra::Extra;
use crate::provisioning::setup::step::record::{Made, Record, Role};
use crate::provisioning::setup::step::{Step, must_be_free};
use line::Line;

/// Joins, or shows how. The steps of `extra` are taken besides, before the daemon is started.
pub(crate) fn run(
    wanted: &Join,
    extra: &impl Extra,
    daemon: &Daemon,
    out: &mut impl Write,
) -> Result<(), Failed> {
    let line = Line::parse(&wanted.line).map_err(Failed::Usage)?;
    let place = &wanted.place;
    if let Some(record) = Record::load(&place.state)? {
        let role = match record.role {
            Role::Server => "is a server",
            Role::Client => "has joined a server",
        };
        return Err(Failed::File(format!("this host {role} already; run mpt setup undo first")));
    }
    let file = place.directory.join("mpt.toml");
    must_be_free(
        &file,
        "move it away, or add the server to it by hand (docs/operations.md, section 3)",
    )?;
    let service = Service::choose(wanted.start, place)?;
    let uplinks = choose(&wanted.uplinks)?;
    let (fallback, servers) = decide(wanted)?;
    let dns = Dns::choose(&servers)?;
    let more = |offered: &[IpNet]| {
        let of_dns = dns.iter().flat_map(|dns| dns.steps(&service));
        let of_service = service.steps().into_iter();
        of_service.chain(extra.steps(offered)).chain(of_dns).collect::<Vec<_>>()
    };
    let key = place.directory.join("private.key");
    let mut steps = Vec::new();
    if !place.directory.is_dir() {
        steps.push(Step::Directory { path: place.directory.clone(), of_daemon: true });
    }
    if !key.exists() {
        steps.push(Step::Key(key.clone()));
    }
    let names: Vec<&str> = uplinks.iter().map(|uplink| uplink.name.as_str()).collect();
    if wanted.dry_run {
        for step in &steps {
            writeln!(out, "would {}", step.describe_fully())?;
        }
        writeln!(out, "would register its public key at {} port {}", line.host, line.port)?;
        let text = config::text(wanted, fallback, daemon, &line, &uplinks, &[], &key)?;
        let config = Step::File { path: file.clone(), text };
        writeln!(out, "would {}", config.describe_fully())?;
        writeln!(out, "    (the server says which networks, unless --network does)")?;
        for step in more(&[]) {
            writeln!(out, "would {}", step.describe_fully())?;
        }
        writeln!(out, "would {}", service.describe(&file))?;
        if let Some(dns) = &dns {
            writeln!(out, "would {}", dns.describe())?;
        }
        return Ok(());
    }
    extra.check()?;
    writeln!(out, "uplinks: {}", names.join(", "))?;
    let mut record = Record::new(&place.state, Role::Client);
    record.save()?;
    let joined = match begin(&steps, &key, &line, &uplinks, &mut record, out) {
        Ok(joined) => joined,
        // Nothing was agreed, so that the next attempt begins anew. The key stays where the answer alone was lost.
        Err(register::Failed::Nothing(failed)) => {
            discard(&record);
            return Err(failed);
        }
        Err(register::Failed::Perhaps(failed)) => {
            record.remove()?;
            return Err(failed);
        }
    };
    writeln!(out, "registered as client {}", joined.client)?;
    let text = config::text(wanted, fallback, daemon, &line, &uplinks, &joined.networks, &key)?;
    let steps = [vec![Step::File { path: file.clone(), text }], more(&joined.networks)].concat();
    if let Some(failed) = steps.iter().find_map(|step| step.check().err()) {
        // The server knows the key of this host, which stays, and lets it in again.
        record.remove()?;
        return Err(Failed::File(format!(
            "{failed}\nThis host is registered already, and the line stays good for it: run the same command again then"
        )));
    }
    for step in &steps {
        writeln!(out, "{}", step.describe())?;
        step.apply(&mut record)?;
    }
    writeln!(out, "{}", service.describe(&file))?;
    out.flush()?;
    let mut client = service.start(&file, &daemon.socket, &mut record)?;
    if let Some(dns) = &dns {
        for server in servers.iter().filter(|it| !leads_there(wanted, &joined, **it)) {
            writeln!(
                out,
                "note: the name server {server} is in no network that leads through the tunnel"
            )?;
        }
        writeln!(out, "{}", dns.describe())?;
        dns.apply(&mut record)?;
    }
    check::check(&mut client, &line, out)?;
    writeln!(out)?;
    status::run(&Status { watch: false, connection: None }, daemon, false, out)
}

/// Decides what the command line leaves open: by questions at a terminal, otherwise by defaults, each of which is named with its flag.
fn decide(wanted: &Join) -> Result<(Fallback, Vec<IpAddr>), Failed> {
    let asks = questions::can_ask() && !wanted.dry_run;
    // Questions and remarks go to standard error, since programs may read the output.
    let (mut input, mut out) = (std::io::stdin().lock(), std::io::stderr());
    let servers = match wanted.dns.is_empty() && !wanted.no_dns {
        true if asks => questions::dns(&mut input, &mut out)?,
        true => {
            writeln!(
                out,
                "note: names are resolved as before; --dns ADDRESS resolves them through the tunnel"
            )?;
            Vec::new()
        }
        false => wanted.dns.clone(),
    };
    let fallback = match wanted.fallback {
        Some(fallback) => fallback,
        None if asks => questions::fallback(&mut input, &mut out)?,
        None => {
            writeln!(
                out,
                "note: while no uplink leads to the server, traffic for the tunnel leaves outside of it; --fallback block drops it"
            )?;
            Fallback::Direct
        }
    };
    Ok((fallback, servers))
}

/// True if an address is reached through the tunnel.
fn leads_there(wanted: &Join, joined: &Joined, address: IpAddr) -> bool {
    let networks = if wanted.networks.is_empty() { &joined.networks } else { &wanted.networks };
    networks.iter().any(|network| network.contains(&address))
}

/// Makes the key, if there is none, and registers it.
fn begin(
    steps: &[Step],
    key: &Path,
    line: &Line,
    uplinks: &[Uplink],
    record: &mut Record,
    out: &mut impl Write,
) -> Result<Joined, register::Failed> {
    for step in steps {
        writeln!(out, "{}", step.describe())?;
        step.apply(record)?;
    }
    let identity = mpt_client::private_key(key)?;
    register::register(line, &identity, uplinks, out)
}

/// The uplinks that are named, else all that there are.
fn choose(named: &[String]) -> Result<Vec<Uplink>, Failed> {
    let found = uplinks::look()?.uplinks;
    let names = || found.iter().map(|uplink| uplink.name.as_str()).collect::<Vec<_>>().join(", ");
    if found.is_empty() {
        return Err(Failed::File(
            "no interface has a default route, so that nothing leads to the server; connect an uplink, and run this again".into(),
        ));
    }
    for name in named {
        if !found.iter().any(|uplink| uplink.name == *name) {
            return Err(Failed::Usage(format!(
                "interface {name} has no default route; these have one: {}",
                names()
            )));
        }
    }
    let wanted = |uplink: &Uplink| named.is_empty() || named.contains(&uplink.name);
    Ok(found.into_iter().filter(wanted).collect())
}

/// Removes what was made before it turned out to be in vain.
fn discard(record: &Record) {
    for made in record.made.iter().rev() {
        let _ = match made {
            Made::Key(path) => std::fs::remove_file(path),
            Made::Directory(path) => std::fs::remove_dir(path),
            _ => Ok(()),
        };
    }
    let _ = record.remove();
}
