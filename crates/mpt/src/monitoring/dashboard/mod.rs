//! `mpt dashboard`: a page for people and `/metrics` for Prometheus, by a process of its own that asks the daemon as every other program does.

mod crowd;
mod guard;
mod web;

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

use crate::client::Failed;
use crate::command_line::args::{Daemon, Dashboard};
use crate::monitoring::watched::Watched;
use crowd::Bounded;
use guard::Guard;

/// The longest token.
const MOST_TOKEN: u64 = 4_096;
/// The shortest token, in characters: what `openssl rand -hex 16` prints is twice as long.
const LEAST_TOKEN: usize = 16;

/// Serves until somebody ends it.
pub(crate) fn run(wanted: &Dashboard, daemon: &Daemon, out: &mut impl Write) -> Result<(), Failed> {
    let token = wanted.token_file.as_deref().map(token).transpose()?;
    let guard = Guard::new(wanted.listen, token).map_err(Failed::Usage)?;
    // A daemon that is away is shown as such, but half a command line is an error.
    crate::client::check(daemon)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(wanted.listen).await;
        let listener = listener.map_err(|error| {
            Failed::Usage(format!(
                "cannot listen on {}: {error}; choose another with --listen",
                wanted.listen
            ))
        })?;
        let address: SocketAddr = listener.local_addr()?;
        writeln!(out, "dashboard on http://{address}/, metrics on http://{address}/metrics")?;
        out.flush()?;
        let listener = Bounded::new(listener);
        Ok(axum::serve(listener, web::router(guard, Watched::start(daemon))).await?)
    })
}

/// The first line of a file, of which nobody guesses anything.
fn token(file: &Path) -> Result<String, Failed> {
    use std::io::Read;
    let failed = |what: &str| Failed::File(format!("{}: {what}", file.display()));
    let mut text = String::new();
    let opened = std::fs::File::open(file);
    let read = opened.and_then(|it| it.take(MOST_TOKEN).read_to_string(&mut text));
    read.map_err(|error| failed(&error.to_string()))?;
    let token = text.lines().next().unwrap_or_default().trim();
    let printable =
        token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+/=".contains(&byte));
    if token.len() < LEAST_TOKEN || !printable {
        let advice = format!(
            "the first line is no token: it takes {LEAST_TOKEN} or more letters and digits, such as those of openssl rand -hex 16"
        );
        return Err(failed(&advice));
    }
    Ok(token.to_owned())
}
