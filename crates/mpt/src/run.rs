//! The commands: each asks the daemon, and prints the answer.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use mpt_api::{Changed, Clients, Command, Measured, PathChange, Reloaded, Reply};
use mpt_client::Client;
use mpt_text::quantity;
use mpt_text::table::{Column, Table};

use crate::client::{self, Failed, candidates};
use crate::command_line::args::{
    self, Args, ClientOperation, ConnectionOperation, InterfaceOperation, Operation, PathOperation,
    Show, Target,
};
use crate::command_line::manual;
use crate::monitoring::{dashboard, monitor, status, top};
use crate::output::json_lines::JsonLines;
use crate::output::{show, steer};
use crate::provisioning::{import, join, keys, setup};
use crate::{advise, doctor};

/// Runs one command.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> Result<(), Failed> {
    let json = args.json;
    if json && !speaks_json(&args.operation) {
        let mut lines = JsonLines::new(out);
        let done = run_one(args, &mut lines);
        lines.finish()?;
        return done;
    }
    run_one(args, out)
}

/// True if a command prints JSON of its own. Each line of the others is made a JSON object.
fn speaks_json(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Status(_)
            | Operation::Show(_)
            | Operation::Connection { operation: ConnectionOperation::Show(_) }
            | Operation::Monitor(_)
            | Operation::Measure { .. }
            | Operation::Advise(_)
            | Operation::Doctor { .. }
            | Operation::Client { operation: ClientOperation::List }
    )
}

fn run_one(args: &Args, out: &mut impl Write) -> Result<(), Failed> {
    let json = args.json;
    let connect = || client::connect(&args.daemon);
    let command = match &args.operation {
        Operation::Genkey(to) => return keys::write(&keys::private()?, to.output.as_deref(), out),
        Operation::Genpsk(to) => {
            return keys::write(&keys::preshared()?, to.output.as_deref(), out);
        }
        Operation::Pubkey { file } => {
            return Ok(writeln!(out, "{}", keys::public(file.as_deref())?)?);
        }
        Operation::Help { command } => return help(command, out),
        Operation::Manual { directory } => return manual::write(directory),
        Operation::Import { directory, output } => {
            return import::run(directory, output.as_deref(), out);
        }
        Operation::Advise(wanted) => return advise::run(wanted, &args.daemon, json, out),
        Operation::Doctor { config } => return doctor::run(config, &args.daemon, json, out),
        Operation::Setup { operation } => return setup::run(operation, &args.daemon, out),
        Operation::Join(wanted) => {
            return join::run(wanted, &setup::step::extra::Nothing, &args.daemon, out);
        }
        Operation::Status(wanted) => return status::run(wanted, &args.daemon, json, out),
        Operation::Top(_) if json => {
            let usage = "mpt top is for people; programs use mpt status --watch --json";
            return Err(Failed::Usage(usage.into()));
        }
        Operation::Top(wanted) => return top::run(wanted, &args.daemon),
        Operation::Dashboard(wanted) => return dashboard::run(wanted, &args.daemon, out),
        Operation::Show(wanted)
        | Operation::Connection { operation: ConnectionOperation::Show(wanted) } => {
            return show(connect()?, wanted, json, out);
        }
        Operation::Monitor(wanted) if json && wanted.exec.is_some() => {
            let usage = "--exec gives JSON to the program, and prints nothing: leave --json out";
            return Err(Failed::Usage(usage.into()));
        }
        Operation::Monitor(wanted) => return monitor::run(connect()?, wanted, json, out),
        Operation::Measure { connection, set, duration } => {
            let command = Command::Measure {
                connection: connection.clone(),
                set: *set,
                duration_ms: u32::try_from(duration.as_millis()).unwrap_or(u32::MAX),
            };
            return match candidates::call(&mut connect()?, command)? {
                Reply::Measured(measured) => self::measured(&measured, json, out),
                reply => Err(Failed::unexpected(&reply)),
            };
        }
        Operation::Client { operation: ClientOperation::List } => {
            return match connect()?.call(Command::Clients)? {
                Reply::Clients(clients) => self::clients(&clients, json, out),
                reply => Err(Failed::unexpected(&reply)),
            };
        }
        Operation::Client { operation: ClientOperation::Disconnect { client } } => {
            Command::DisconnectClient { client: client.clone() }
        }
        Operation::Path { operation } => path(operation),
        Operation::Interface { operation } => {
            let (interface, up) = match operation {
                InterfaceOperation::Up { interface } => (interface, true),
                InterfaceOperation::Down { interface } => (interface, false),
            };
            Command::SetInterface { interface: interface.clone(), up }
        }
        Operation::Connection { operation: ConnectionOperation::Create { file } } => {
            Command::CreateConnection { toml: read(file)? }
        }
        Operation::Connection { operation: ConnectionOperation::Delete { connection } } => {
            Command::DeleteConnection { connection: connection.clone() }
        }
        Operation::Connection { operation: ConnectionOperation::Save { connection } } => {
            Command::SaveConnection { connection: connection.clone() }
        }
        Operation::Keepalive { connection, path, keepalive } => Command::SetKeepalive {
            connection: connection.clone(),
            path: path.clone(),
            keepalive_us: u64::try_from(keepalive.as_micros()).unwrap_or(u64::MAX),
        },
        Operation::Reload => Command::Reload,
    };
    let said = match &command {
        Command::SetPath { connection, path, change } => {
            Some(steer::said(connection, path, change))
        }
        _ => None,
    };
    // An answer to another question is not taken for success.
    let expected = std::mem::discriminant(&match command {
        Command::SetPath { .. } => Reply::Done,
        Command::Reload => Reply::Reloaded(Reloaded::default()),
        _ => Reply::Changed(Changed::default()),
    });
    match candidates::call(&mut connect()?, command)? {
        reply if std::mem::discriminant(&reply) != expected => Err(Failed::unexpected(&reply)),
        Reply::Changed(changed) => self::changed(&changed, out),
        Reply::Reloaded(reloaded) => self::reloaded(&reloaded, out),
        _ => match said {
            Some(said) => Ok(writeln!(out, "{said}")?),
            None => Ok(()),
        },
    }
}

fn path(operation: &PathOperation) -> Command {
    let set = |target: &Target, change| Command::SetPath {
        connection: target.connection.clone(),
        path: target.path.clone(),
        change,
    };
    let up = |up| PathChange { up: Some(up), ..PathChange::default() };
    match operation {
        PathOperation::Up(target) => set(target, up(true)),
        PathOperation::Down(target) => set(target, up(false)),
        PathOperation::Set { target, settings } => set(target, args::change(settings)),
        PathOperation::Add { target, keys } => Command::AddPath {
            connection: target.connection.clone(),
            toml: format!("name = {}\n{}", args::quoted(&target.path), keys.concat()),
        },
        PathOperation::Del(target) => {
            Command::DeletePath { connection: target.connection.clone(), path: target.path.clone() }
        }
    }
}

/// Prints the short help of a command.
fn help(words: &[String], out: &mut impl Write) -> Result<(), Failed> {
    let mut command = args::command();
    // Each part knows the whole command by then.
    command.build();
    for word in words {
        let part = command.find_subcommand(word).cloned();
        command = part.ok_or_else(|| {
            let known = command.get_subcommands().filter(|it| !it.is_hide_set());
            let known: Vec<_> = known.map(clap::Command::get_name).collect();
            let known = if known.is_empty() { "no commands".into() } else { known.join(", ") };
            Failed::Usage(format!("there is no {} {word}; it has {known}", command.get_name()))
        })?;
    }
    let help = command.render_help();
    Ok(write!(out, "{help}")?)
}

/// The text of a file, or of standard input.
fn read(file: &Path) -> Result<String, Failed> {
    let failed = |what: String| Failed::File(format!("{}: {what}", file.display()));
    let most = mpt_api::MAX_REQUEST as u64;
    let mut text = String::new();
    let read = if file == Path::new("-") {
        io::stdin().lock().take(most).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|open| open.take(most).read_to_string(&mut text))
    };
    match read {
        Err(error) => Err(failed(error.to_string())),
        Ok(length) if length as u64 == most => Err(failed("too long for a connection".into())),
        Ok(_) => Ok(text),
    }
}

fn show(mut client: Client, wanted: &Show, json: bool, out: &mut impl Write) -> Result<(), Failed> {
    let command = match &wanted.connection {
        Some(connection) => Command::ShowConnection { connection: connection.clone() },
        None => Command::Show,
    };
    let reply = candidates::call(&mut client, command)?;
    let Reply::Snapshot(snapshot) = reply else { return Err(Failed::unexpected(&reply)) };
    if json {
        serde_json::to_writer_pretty(&mut *out, &snapshot).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", show::Text(&snapshot))?;
    }
    Ok(())
}

/// A line for each connection, and one for each client that has none.
fn clients(clients: &Clients, json: bool, out: &mut impl Write) -> Result<(), Failed> {
    if json {
        serde_json::to_writer_pretty(&mut *out, clients).map_err(io::Error::from)?;
        return Ok(writeln!(out)?);
    }
    if clients.clients.is_empty() {
        return Ok(writeln!(out, "the configuration has no [[client]]")?);
    }
    let mut table = Table::indented([
        Column::word("CLIENT"),
        Column::word("CONNECTION"),
        Column::number("PATHS UP"),
        Column::number("SINCE"),
        Column::word("ADDRESSES AND NETWORKS"),
        Column::word("KEY"),
    ]);
    for client in &clients.clients {
        if client.connections.is_empty() {
            let (name, key) = (client.name.clone(), client.public_key.clone());
            table.row([name, "-".into(), "-".into(), "-".into(), "-".into(), key]);
        }
        for connection in &client.connections {
            let since = Duration::from_secs(connection.created_s);
            let addresses = connection.addresses.iter().map(ToString::to_string);
            let networks = connection.networks.iter().map(ToString::to_string);
            table.row([
                client.name.clone(),
                connection.name.clone(),
                format!("{} of {}", connection.paths_up, connection.paths),
                format!("{} ago", humantime::format_duration(since)),
                addresses.chain(networks).collect::<Vec<_>>().join(", "),
                client.public_key.clone(),
            ]);
        }
    }
    Ok(write!(out, "{table}")?)
}

fn changed(changed: &Changed, out: &mut impl Write) -> Result<(), Failed> {
    for warning in &changed.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    for change in &changed.changes {
        writeln!(out, "{change}")?;
    }
    if changed.changes.is_empty() {
        writeln!(out, "nothing has changed")?;
    }
    Ok(())
}

fn reloaded(reloaded: &Reloaded, out: &mut impl Write) -> Result<(), Failed> {
    for warning in &reloaded.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    for change in &reloaded.changes {
        writeln!(out, "{change}")?;
    }
    for key in &reloaded.restart {
        writeln!(out, "{key}: changed, takes effect when mptd is started again")?;
    }
    if reloaded.changes.is_empty() && reloaded.restart.is_empty() {
        writeln!(out, "nothing has changed")?;
    }
    Ok(())
}

fn measured(measured: &Measured, json: bool, out: &mut impl Write) -> Result<(), Failed> {
    if json {
        serde_json::to_writer_pretty(&mut *out, measured).map_err(io::Error::from)?;
        return Ok(writeln!(out)?);
    }
    let mut table = Table::indented([
        Column::word("PATH"),
        Column::number("SENDING"),
        Column::number("RECEIVING"),
        Column::number("WEIGHT"),
        Column::number("IN"),
    ]);
    for path in &measured.paths {
        let rate = |rate: Option<u64>| rate.map_or("not measured".into(), quantity::rate);
        let weight = |weight: Option<u16>| weight.map_or("-".into(), |weight| weight.to_string());
        table.row([
            path.path.clone(),
            rate(path.out_bits_per_second),
            rate(path.in_bits_per_second),
            weight(path.weight),
            weight(path.weight_in),
        ]);
    }
    write!(out, "{table}")?;
    let said = if measured.set { "the weights are set" } else { "set them with --set" };
    Ok(writeln!(out, "{said}")?)
}
