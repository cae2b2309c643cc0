//! The problems of a tunnel, each in one sentence that says what to do.

use mpt_api::snapshot::{
    Connection, ConnectionState, Daemon, DataState, DownReason, Path, PathState, SessionState,
};

use super::cap;
use crate::monitoring::measured::Measured;

/// Recent loss of a path, in a million packets, from which it is a problem: a TCP flow of its own would hardly get anywhere.
const LOSSY: u32 = 20_000;

/// The queue of a path, in microseconds, from which calls and games suffer.
const LONG_QUEUE_US: u64 = 200_000;

/// Returns what is wrong with the process.
pub(crate) fn daemon(daemon: &Daemon) -> Vec<String> {
    // A tenth of the limit is left.
    let full = u128::from(daemon.buffer_bytes) * 10 >= u128::from(daemon.buffer_limit) * 9;
    if daemon.buffer_limit > 0 && full {
        vec!["packet buffers are nearly full, and packets will be dropped: enlarge daemon.buffer_limit".into()]
    } else {
        Vec::new()
    }
}

/// Returns what is wrong with a connection, what concerns all of it first.
pub(crate) fn connection(connection: &Connection) -> Vec<String> {
    let mut problems = Vec::new();
    let session = connection.session.as_ref();
    problems.extend(connection.disagreement.map(|it| it.sentence().to_owned()));
    match session.map(|it| it.state) {
        // The disagreement, which was added above, is the reason.
        Some(SessionState::Connecting) if connection.disagreement.is_some() => {}
        Some(SessionState::Connecting) => problems.push(
            "the peer does not answer: compare addresses, UDP port and keys of both ends, and look \
             whether its daemon runs"
                .into(),
        ),
        Some(SessionState::Creating) => {
            problems.push("the peer has not created the connection yet: its log says why".into());
        }
        Some(SessionState::Refused) => {
            problems.push("the peer refuses the connection: the logs of both ends say why".into());
        }
        Some(SessionState::Established | SessionState::Unknown) | None => {}
    }
    match session.and_then(|it| it.data) {
        Some(DataState::PlainPeer) => problems.push(
            "data is neither encrypted nor authenticated, because the peer does not seal".into(),
        ),
        Some(DataState::Refused) => problems.push(
            "no data is carried, because the peer does not seal and this host requires it".into(),
        ),
        _ => {}
    }
    if connection.state == ConnectionState::Down {
        problems.push("no path works, so nothing goes through the tunnel".into());
    }
    // While nothing is agreed with the peer, no path can be confirmed: that is said once, above.
    let agreed = session
        .is_none_or(|it| matches!(it.state, SessionState::Established | SessionState::Unknown));
    for path in &connection.paths {
        let unproven = path.down == Some(DownReason::Unproven);
        if agreed || !unproven {
            problems.extend(down(&connection.name, path));
        }
        if path.state == PathState::Up {
            problems.extend(poor(path));
        }
        problems.extend(cap::problems(path));
    }
    problems
}

/// Returns why a path is down, and what brings it back.
fn down(connection: &str, path: &Path) -> Option<String> {
    let name = &path.name;
    let interface = path.interface.as_deref();
    Some(match path.down? {
        DownReason::Administrative => format!(
            "path {name} is out of service by configuration or command; mpt path up {connection} {name} brings it back"
        ),
        DownReason::Unresolved => format!(
            "path {name}: the name {} cannot be resolved; check its spelling, and the name servers of this host",
            path.remote_name.as_deref().unwrap_or("of its peer")
        ),
        DownReason::Interface => match interface {
            Some(interface) => format!(
                "path {name}: interface {interface} is missing, down, without carrier or without address; ip addr show dev {interface} says which"
            ),
            None => {
                format!(
                    "path {name}: its local address is on no interface that works; ip addr shows where it is"
                )
            }
        },
        DownReason::Dead => format!(
            "path {name} is dead: {}; check that line and its access to the Internet",
            silence(path)
        ),
        DownReason::Unproven => format!(
            "path {name} is not confirmed: {}; check its addresses, and that the UDP port is open on the way",
            silence(path)
        ),
        DownReason::Peer => format!(
            "path {name} was taken out of service by the peer; mpt path up there brings it back"
        ),
        DownReason::Cap => cap::reached(path),
        DownReason::Unknown => {
            format!("path {name} is down for a reason that this mpt does not know")
        }
    })
}

/// Returns which direction does not work, in words.
fn silence(path: &Path) -> &'static str {
    match path.liveness.map(|it| (it.hears_us, it.we_hear)) {
        Some((false, true)) => "we hear the peer, but it does not hear us",
        Some((true, false)) => "the peer hears us, but we do not hear it",
        _ => "nothing is heard in either direction",
    }
}

/// Returns the faults of a path that works.
fn poor(path: &Path) -> Vec<String> {
    let name = &path.name;
    let mut problems = Vec::new();
    let measured = Measured::of(path);
    if let Some(lost) = measured.lost_per_million.filter(|&lost| lost >= LOSSY) {
        let percent = f64::from(lost) / 1e4;
        problems.push(format!(
            "path {name} loses {percent:.1} % of its packets; check the signal or the cable of that line"
        ));
    }
    if let Some(queue) = measured.queue_us.filter(|&queue| queue >= LONG_QUEUE_US) {
        let ms = queue / 1000;
        problems.push(format!(
            "path {name}: packets wait {ms} ms in the queue of the line, which other traffic may fill"
        ));
    }
    if !path.ipv6 {
        problems.push(format!(
            "path {name} is too narrow for IPv6: its MTU is {} bytes; IPv6 leaves over the other paths, if there are any",
            path.mtu
        ));
    }
    problems
}
