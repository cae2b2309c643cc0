//! `mpt join`: makes this host a client of the server that a line names.

mod check;
mod config;
pub(crate) mod line;
mod register;

use std::io::Write;
use std::path::Path;

use mpt_api::session::Joined;

use crate::args::{Daemon, Status};
use crate::client::Failed;
use crate::setup::args::Join;
use crate::setup::record::{Made, Record, Role};
use crate::setup::service::Service;
use crate::setup::step::{Step, must_be_free};
use crate::setup::uplinks::{self, Uplink};
use crate::status;
use line::Line;

/// Joins, or shows how.
pub(crate) fn run(wanted: &Join, daemon: &Daemon, out: &mut impl Write) -> Result<(), Failed> {
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
    let service = Service::choose(wanted.start, &place.state)?;
    let uplinks = choose(&wanted.uplinks)?;
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
        let text = config::text(wanted, daemon, &line, &uplinks, &[], &key)?;
        let config = Step::File { path: file.clone(), text };
        writeln!(out, "would {}", config.describe_fully())?;
        writeln!(out, "    (the server says which networks, unless --network does)")?;
        return Ok(writeln!(out, "would {}", service.describe(&file))?);
    }
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
    let text = config::text(wanted, daemon, &line, &uplinks, &joined.networks, &key)?;
    let step = Step::File { path: file.clone(), text };
    writeln!(out, "{}", step.describe())?;
    step.apply(&mut record)?;
    writeln!(out, "{}", service.describe(&file))?;
    out.flush()?;
    let mut client = service.start(&file, &daemon.socket, &mut record)?;
    check::check(&mut client, &line, out)?;
    writeln!(out)?;
    status::run(&Status { watch: false, connection: None }, daemon, false, out)
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
