//! Names that exist, for who asked for one that does not.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use mpt_api::{Clients, Code, Command, Failure, Reply, Snapshot};
use mpt_client::{Client, Error};

/// The most names that are listed.
const MOST: usize = 10;

/// Asks the daemon. When it does not know a name, the error lists those that it knows, the most similar ones first.
///
/// # Errors
///
/// [`Error`]
pub(crate) fn call(client: &mut Client, command: Command) -> Result<Reply, Error> {
    let asked = command.clone();
    client.call(command).map_err(|error| match error {
        Error::Refused(failure) if failure.code == Code::NotFound => {
            let list = known(client, &asked).map(|(name, known)| listed(name, known));
            let message = failure.message + &list.unwrap_or_default();
            Error::Refused(Failure::new(Code::NotFound, message))
        }
        error => error,
    })
}

/// Returns the name in a command that the daemon does not know, and all that it knows of this kind. `None` when it does not say.
fn known<'a>(client: &mut Client, command: &'a Command) -> Option<(&'a str, BTreeSet<String>)> {
    if let Command::DisconnectClient { client: name } = command {
        let Ok(Reply::Clients(Clients { clients })) = client.call(Command::Clients) else {
            return None;
        };
        return Some((name, clients.into_iter().map(|it| it.name).collect()));
    }
    let (connection, path) = match command {
        Command::SetInterface { .. } => (None, None),
        Command::ShowConnection { connection }
        | Command::AddPath { connection, .. }
        | Command::DeleteConnection { connection }
        | Command::SaveConnection { connection }
        | Command::Measure { connection, .. } => (Some(connection), None),
        Command::SetPath { connection, path, .. } | Command::DeletePath { connection, path } => {
            (Some(connection), Some(path))
        }
        Command::SetKeepalive { connection, path, .. } => (Some(connection), path.as_ref()),
        _ => return None,
    };
    let Ok(Reply::Snapshot(snapshot)) = client.call(Command::Show) else { return None };
    let Snapshot { connections, .. } = *snapshot;
    if let Command::SetInterface { interface, .. } = command {
        let paths = connections.into_iter().flat_map(|it| it.paths);
        return Some((interface, paths.filter_map(|it| it.interface).collect()));
    }
    let name = connection?;
    match connections.iter().find(|it| it.name == *name) {
        Some(connection) => {
            Some((path?, connection.paths.iter().map(|it| it.name.clone()).collect()))
        }
        None => Some((name, connections.into_iter().map(|it| it.name).collect())),
    }
}

/// Returns the rest of a sentence that says that there is no such name.
fn listed(name: &str, known: BTreeSet<String>) -> String {
    if known.is_empty() {
        return "; the daemon has none".to_owned();
    }
    let mut known: Vec<_> = known.into_iter().collect();
    // Thousandths, since floating-point numbers have no order.
    known.sort_by_cached_key(|it| Reverse((strsim::jaro_winkler(name, it) * 1e3) as u32));
    let more = known.len().saturating_sub(MOST);
    known.truncate(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("; the daemon has {}{more}", known.join(", "))
}
