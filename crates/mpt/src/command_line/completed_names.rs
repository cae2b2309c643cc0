//! The names that the command line is completed with: those that the daemon knows.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap_complete::engine::CompletionCandidate;
use mpt_api::{Command, Connection, Reply};
use mpt_client::{Client, Local};

/// A person who types waits no longer for a daemon.
const PATIENCE: Duration = Duration::from_millis(500);

/// Names of connections.
pub(crate) fn connections(current: &OsStr) -> Vec<CompletionCandidate> {
    matching(current, known().iter().map(|it| it.name.clone()))
}

/// Names of the paths of the connection that stands before, or else of all.
pub(crate) fn paths(current: &OsStr) -> Vec<CompletionCandidate> {
    let known = known();
    let words = words();
    let named = known.iter().find(|it| words.iter().any(|word| **word == *it.name));
    let of = |it: &Connection| it.paths.iter().map(|path| path.name.clone()).collect::<Vec<_>>();
    matching(
        current,
        match named {
            Some(connection) => of(connection),
            None => known.iter().flat_map(of).collect(),
        },
    )
}

/// Interfaces that paths use.
pub(crate) fn interfaces(current: &OsStr) -> Vec<CompletionCandidate> {
    let known = known();
    let paths = known.iter().flat_map(|it| &it.paths);
    matching(current, paths.filter_map(|path| path.interface.clone()))
}

/// Names of clients.
pub(crate) fn clients(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(Reply::Clients(clients)) = ask(Command::Clients) else { return Vec::new() };
    matching(current, clients.clients.into_iter().map(|it| it.name))
}

/// Returns those that begin as what was typed, each once, in their order.
fn matching(current: &OsStr, names: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let begun = current.to_string_lossy();
    let names: BTreeSet<String> =
        names.into_iter().filter(|name| name.starts_with(&*begun)).collect();
    names.into_iter().map(CompletionCandidate::new).collect()
}

fn known() -> Vec<Connection> {
    match ask(Command::Show) {
        Some(Reply::Snapshot(snapshot)) => snapshot.connections,
        _ => Vec::new(),
    }
}

/// Asks the daemon of this host. `None` when it does not answer at once.
fn ask(command: Command) -> Option<Reply> {
    let socket = socket();
    let (answers, answer) = mpsc::channel();
    // It may still wait when this process ends.
    thread::spawn(move || {
        let asked = Local::connect(&socket).map(Client::from);
        let _ = answers.send(asked.and_then(|mut client| client.call(command)).ok());
    });
    answer.recv_timeout(PATIENCE).ok().flatten()
}

/// The control socket that the command line names so far.
fn socket() -> PathBuf {
    let words = words();
    let named = words.iter().zip(words.iter().skip(1)).find(|(option, _)| *option == "--socket");
    let named = named.map(|(_, socket)| socket.clone());
    let named = named.or_else(|| std::env::var_os("MPT_SOCKET")).filter(|it| !it.is_empty());
    named.map_or_else(|| mpt_api::DEFAULT_SOCKET.into(), PathBuf::from)
}

/// The words of the command line that is completed.
fn words() -> Vec<OsString> {
    std::env::args_os().skip_while(|word| word != "--").skip(2).collect()
}
