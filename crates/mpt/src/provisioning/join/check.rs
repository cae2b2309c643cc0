//! Waits until the tunnel works, and says what each uplink is like.

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use mpt_api::{Command, Connection, MtuSource, Path, PathState, Reply};
use mpt_client::Client;

use super::config::CONNECTION;
use super::default_routes;
use super::line::Line;
use crate::client::Failed;

/// The longest time that the uplinks may take. One that works takes less than a second, and its MTU another one.
const WITHIN: Duration = Duration::from_secs(10);
/// The time between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Waits until every uplink works in both directions, its MTU is known, and default routes lead into the tunnel, or the time is over, and says what
/// was found.
pub(super) fn check(client: &mut Client, line: &Line, out: &mut impl Write) -> Result<(), Failed> {
    let until = Instant::now() + WITHIN;
    let (connection, passed) = loop {
        let connection = show(client)?;
        // With `fallback = "direct"`, the daemon makes them after a path came up: what the next program sends would leave past the tunnel.
        let passed = default_routes::passed(&connection)?;
        if connection.paths.iter().all(is_known) && passed.is_empty() || Instant::now() >= until {
            break (connection, passed);
        }
        thread::sleep(LOOK);
    };
    for path in &connection.paths {
        writeln!(out, "uplink {}: {}", path.name, describe(path, line))?;
    }
    // While no path is up, leaving past the tunnel is what `fallback = "direct"` means.
    if connection.paths.iter().any(|path| path.state == PathState::Up) {
        for network in passed {
            writeln!(
                out,
                "warning: what is meant for {network} leaves past the tunnel: another rule of this host comes first (ip rule)"
            )?;
        }
    }
    Ok(())
}

fn show(client: &mut Client) -> Result<Connection, Failed> {
    let command = Command::ShowConnection { connection: CONNECTION.into() };
    match client.call(command)? {
        Reply::Snapshot(snapshot) => {
            let gone = || Failed::File("mptd has no connection to the server".into());
            snapshot.connections.into_iter().next().ok_or_else(gone)
        }
        reply => Err(Failed::unexpected(&reply)),
    }
}

fn is_known(path: &Path) -> bool {
    path.state == PathState::Up && path.mtu_source == MtuSource::Probed
}

fn describe(path: &Path, line: &Line) -> String {
    let rtt = path.liveness.as_ref().and_then(|liveness| liveness.rtt_us);
    match (path.state, rtt) {
        (PathState::Up, Some(rtt)) => {
            let milliseconds = Duration::from_micros(rtt).as_secs_f64() * 1000.0;
            format!("works in both directions, round trip {milliseconds:.1} ms, MTU {}", path.mtu)
        }
        (PathState::Up, None) => format!("works, MTU {}", path.mtu),
        _ => format!(
            "does not lead to the server; look whether it has access to the Internet (ping -I {} {}). The tunnel uses it as soon as it works",
            path.name, line.host
        ),
    }
}
