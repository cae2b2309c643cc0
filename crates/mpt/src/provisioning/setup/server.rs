//! `mpt setup server`: from a bare host to a server that waits for its first client.

use std::io::Write;
use std::net::IpAddr;
use std::path::Path;

use ipnet::{IpNet, Ipv4Net};

use super::args;
use super::host::nat;
use super::host::service::Service;
use super::host::uplinks::{self, Used};
use super::purpose::{DEVICE, Purpose};
use super::step::record::{Record, Role};
use super::step::{Step, must_be_free};
use super::token;
use crate::client::Failed;
use crate::command_line::args::{Daemon, quoted};
use crate::doctor;

/// Everything that is decided before the first step.
struct Plan {
    listen: Vec<IpAddr>,
    address: String,
    pool: IpNet,
    networks: Vec<IpNet>,
    service: Service,
}

/// Sets up the server, or shows how.
pub(crate) fn setup(
    wanted: &args::Server,
    daemon: &Daemon,
    purpose: &Purpose,
    out: &mut impl Write,
) -> Result<(), Failed> {
    let place = &wanted.place;
    if let Some(record) = Record::load(&place.state)? {
        let advice = match record.role {
            Role::Server => {
                "run mpt setup token for a line with which another host can join, or mpt setup undo first"
            }
            Role::Client => "it has joined a server as a client; run mpt setup undo first",
        };
        return Err(Failed::File(format!("mpt has set up this host already; {advice}")));
    }
    let config = place.directory.join("mpt.toml");
    must_be_free(&config, "run mpt setup token if it is that of a server, or move it away")?;
    let plan = plan(wanted)?;
    let steps = steps(wanted, daemon, &plan, purpose)?;
    if wanted.dry_run {
        for step in &steps {
            writeln!(out, "would {}", step.describe_fully())?;
        }
        writeln!(out, "would {}", plan.service.describe(&config))?;
        return Ok(writeln!(
            out,
            "would print a line for {}, with the address {}",
            purpose.command(),
            plan.address
        )?);
    }
    for step in &steps {
        step.check()?;
    }
    let mut record = Record::new(&place.state, Role::Server);
    (record.address, record.networks) = (plan.address.clone(), plan.networks.clone());
    record.save()?;
    let undo = |failed: Failed| match failed {
        Failed::File(why) => {
            Failed::File(format!("{why}\nmpt setup undo removes what was made until then"))
        }
        other => other,
    };
    for step in &steps {
        writeln!(out, "{}", step.describe())?;
        step.apply(&mut record).map_err(undo)?;
    }
    writeln!(out, "{}", plan.service.describe(&config))?;
    out.flush()?;
    let mut client = plan.service.start(&config, &daemon.socket, &mut record).map_err(undo)?;
    say_what_may_be_in_the_way(wanted, &plan, purpose, out)?;
    let ready = match purpose {
        Purpose::Clients => "The server is ready. On the host that is to join, as root:",
        Purpose::Site { .. } => "This router is ready. On the other one, as root:",
    };
    writeln!(out, "\n{ready}\n")?;
    token::print(&mut client, &record, &wanted.client, purpose, out)
}

impl Purpose {
    /// Returns the command for the other host, which its line follows.
    pub(super) fn command(&self) -> &'static str {
        match self {
            Purpose::Clients => "mpt join",
            Purpose::Site { .. } => "mpt setup site",
        }
    }

    /// The networks behind the client.
    pub(super) fn behind(&self) -> Vec<IpNet> {
        match self {
            Purpose::Clients => Vec::new(),
            Purpose::Site { there } => there.clone(),
        }
    }
}

fn plan(wanted: &args::Server) -> Result<Plan, Failed> {
    let used = uplinks::look()?;
    let listen = match wanted.listen.is_empty() {
        false => wanted.listen.clone(),
        true => vec![own_address(&used)?],
    };
    let first = listen.first().map(ToString::to_string).unwrap_or_default();
    let pool = match wanted.pool {
        Some(pool) => check_pool(pool, &used)?,
        None => free_pool(&used)?,
    };
    let networks = match wanted.networks.is_empty() {
        true => vec![IpNet::V4(Ipv4Net::default())],
        false => wanted.networks.clone(),
    };
    let address = wanted.address.clone().unwrap_or(first);
    let service = Service::choose(wanted.start, &wanted.place)?;
    Ok(Plan { listen, address, pool, networks, service })
}

/// The address of the interface with the best default route.
fn own_address(used: &Used) -> Result<IpAddr, Failed> {
    let addresses = || used.uplinks.iter().flat_map(|uplink| &uplink.addresses);
    let found = addresses().find(|it| it.is_ipv4()).or_else(|| addresses().next());
    found.copied().ok_or_else(|| {
        Failed::Usage("no interface has a default route and an address; name the address of this host with --listen".into())
    })
}

/// The first network for addresses inside the tunnel that this host does not use.
fn free_pool(used: &Used) -> Result<IpNet, Failed> {
    let all = (77..=99).filter_map(|number| Ipv4Net::new([10, number, 0, 0].into(), 24).ok());
    let free = |pool: &IpNet| !used.networks.iter().any(|it| overlap(it, pool));
    all.map(IpNet::V4).find(free).ok_or_else(|| {
        Failed::Usage(
            "this host uses all of 10.77.0.0/24 to 10.99.0.0/24; name another network with --pool"
                .into(),
        )
    })
}

fn check_pool(pool: IpNet, used: &Used) -> Result<IpNet, Failed> {
    let pool = pool.trunc();
    if pool.max_prefix_len() - pool.prefix_len() < 2 {
        return Err(Failed::Usage(format!(
            "{pool} has no room for a server and a client; name a larger network with --pool"
        )));
    }
    match used.networks.iter().find(|it| overlap(it, &pool)) {
        Some(other) => Err(Failed::Usage(format!(
            "{pool} overlaps {other}, which this host uses; name another network with --pool"
        ))),
        None => Ok(pool),
    }
}

fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

fn steps(
    wanted: &args::Server,
    daemon: &Daemon,
    plan: &Plan,
    purpose: &Purpose,
) -> Result<Vec<Step>, Failed> {
    let args::Place { directory, state } = &wanted.place;
    let mut steps = Vec::new();
    if !directory.is_dir() {
        steps.push(Step::Directory { path: directory.clone(), of_daemon: true });
    }
    let key = directory.join("private.key");
    // A key that is there is that of this host, and stays.
    if !key.exists() {
        steps.push(Step::Key(key.clone()));
    }
    let text = config(wanted, daemon, plan, &key)?;
    steps.push(Step::File { path: directory.join("mpt.toml"), text });
    steps.extend(plan.service.steps());
    steps.extend(match purpose {
        Purpose::Clients => nat::steps(&plan.pool, &plan.service, state),
        Purpose::Site { there } => nat::forwarding(there, &plan.service),
    });
    Ok(steps)
}

/// The text of the configuration.
fn config(
    wanted: &args::Server,
    daemon: &Daemon,
    plan: &Plan,
    key: &Path,
) -> Result<String, Failed> {
    let listen: Vec<_> = plan.listen.iter().map(|address| format!("\"{address}\"")).collect();
    let own = plan.pool.hosts().next().unwrap_or_else(|| plan.pool.addr());
    Ok(format!(
        "# Made by mpt setup. A host that joins is added at the end.\n\
         [daemon]\n\
         listen = [{}]\n\
         port = {}\n\
         {}\n\
         [[device]]\n\
         name = \"{DEVICE}\"\n\
         addresses = [\"{own}/{}\"]\n\n\
         [[pool]]\n\
         name = \"clients\"\n\
         networks = [\"{}\"]\n",
        listen.join(", "),
        wanted.port,
        where_things_are(daemon, key)?,
        plan.pool.prefix_len(),
        plan.pool,
    ))
}

/// The lines of `[daemon]` for a key or a socket in another place than the usual one.
pub(crate) fn where_things_are(daemon: &Daemon, key: &Path) -> Result<String, Failed> {
    let text = |path: &Path| {
        let absolute = std::path::absolute(path);
        let absolute =
            absolute.map_err(|error| Failed::File(format!("{}: {error}", path.display())))?;
        Ok::<_, Failed>(quoted(&absolute.to_string_lossy()))
    };
    let mut lines = String::new();
    if key != Path::new("/etc/mpt/private.key") {
        lines += &format!("private_key_file = {}\n", text(key)?);
    }
    if daemon.socket != Path::new(mpt_api::DEFAULT_SOCKET) {
        lines += &format!("control_socket = {}\n", text(&daemon.socket)?);
    }
    Ok(lines)
}

fn say_what_may_be_in_the_way(
    wanted: &args::Server,
    plan: &Plan,
    purpose: &Purpose,
    out: &mut impl Write,
) -> Result<(), Failed> {
    let port = wanted.port;
    if let Some(command) = doctor::command_to_open(port) {
        writeln!(
            out,
            "\nA packet filter of this host probably drops UDP port {port}. Let it in: {command}"
        )?;
    }
    if let Some(advice) = nat::in_the_way(purpose) {
        writeln!(out, "\n{advice}")?;
    }
    let private = plan.address.parse().is_ok_and(|address: IpAddr| match address {
        IpAddr::V4(v4) => v4.is_private(),
        IpAddr::V6(v6) => v6.is_unique_local(),
    });
    if private {
        writeln!(
            out,
            "\n{} is a private address. If clients come from elsewhere, forward UDP port {port} to it, and run mpt setup undo and \
             mpt setup server --address with the public address or name.",
            plan.address
        )?;
    }
    Ok(())
}
