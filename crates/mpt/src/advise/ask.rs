//! The measurements that a running daemon has of the paths of a connection.

use std::time::Duration;

use mpt_api::snapshot::Liveness;
use mpt_api::{Command, Mapping, Reply};
use mpt_core::advise::Path;

use super::Named;
use crate::client::{self, Failed};
use crate::command_line::args::Daemon;

/// Length of the speed test of one path in one direction, in milliseconds.
const TEST_MS: u32 = 1000;

/// Measures the speed of each path, as `mpt measure` does, and takes delays from the probes of the session: half of
/// the shortest round-trip time, and of its variation. The direction is that from the peer to here, since the
/// window is the receiver's. Returns the mapping of the connection with its paths.
pub(super) fn paths(connection: &str, daemon: &Daemon) -> Result<(Vec<Named>, Mapping), Failed> {
    let measure =
        Command::Measure { connection: connection.to_owned(), set: false, duration_ms: TEST_MS };
    // A conversation each: the test takes its time.
    let measured = match client::connect(daemon)?.call(measure)? {
        Reply::Measured(measured) => measured,
        reply => return Err(Failed::unexpected(&reply)),
    };
    let show = Command::ShowConnection { connection: connection.to_owned() };
    let snapshot = match client::connect(daemon)?.call(show)? {
        Reply::Snapshot(snapshot) => snapshot,
        reply => return Err(Failed::unexpected(&reply)),
    };
    let known = |name: &str| {
        let mut paths = snapshot.connections.iter().flat_map(|connection| &connection.paths);
        paths.find(|path| path.name == name)?.liveness
    };
    let mut paths = Vec::new();
    for measured in measured.paths {
        // Down: it carries nothing now, and is not waited for.
        let Some(rate) = measured.in_bits_per_second else { continue };
        let Some((delay, jitter)) = known(&measured.path).and_then(|liveness| times(&liveness))
        else {
            let name = measured.path;
            return Err(Failed::File(format!(
                "the round-trip time of path {name} is not known yet; ask again, or give the paths with --path"
            )));
        };
        paths.push(Named { name: measured.path, path: Path { rate, delay, jitter } });
    }
    if paths.is_empty() {
        return Err(Failed::File(format!(
            "no path of {connection} is up; give the paths with --path"
        )));
    }
    let mapping = snapshot.connections.first().map(|connection| connection.mapping);
    Ok((paths, mapping.unwrap_or_default()))
}

/// One way: delay and its deviation.
fn times(liveness: &Liveness) -> Option<(Duration, Duration)> {
    let half = |us: u64| Duration::from_micros(us / 2);
    Some((half(liveness.rtt_minimum_us?), half(liveness.rtt_variation_us.unwrap_or(0))))
}
