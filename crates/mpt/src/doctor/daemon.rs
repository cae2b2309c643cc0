//! The state of the paths and sessions of the running daemon.

use std::time::{Duration, SystemTime};

use ipnet::IpNet;
use mpt_api::snapshot::{Connection, DataState, MtuSource, Path, Session};
use mpt_api::{Command, DownReason, PathState, Reply, SessionState, Snapshot};
use mpt_client::Client;
use mpt_config::DEFAULT_PORT;
use mpt_core::path::mtu::IPV6_MINIMUM;

use super::{Findings, Level};
use crate::client::Failed;
use crate::monitoring::status::cap;

/// Everything as the daemon knows it, and when it was asked.
pub(super) struct Answer {
    pub(super) snapshot: Snapshot,
    pub(super) asked: SystemTime,
    /// Time until the answer.
    pub(super) took: Duration,
}

pub(super) fn snapshot(client: Result<Client, Failed>) -> Result<Answer, Failed> {
    let mut client = client?;
    // The first answer comes with the setting up of a session: the time of the second is that of the way.
    client.call(Command::Show)?;
    let (asked, began) = (SystemTime::now(), std::time::Instant::now());
    match client.call(Command::Show)? {
        Reply::Snapshot(snapshot) => {
            Ok(Answer { snapshot: *snapshot, asked, took: began.elapsed() })
        }
        reply => Err(Failed::unexpected(&reply)),
    }
}

pub(super) fn check(answer: &Result<Answer, Failed>, found: &mut Findings) {
    let snapshot = match answer {
        Ok(answer) => &answer.snapshot,
        Err(error) => {
            let advice = "systemctl start mptd, and look at its log: journalctl -u mptd";
            return found.add(Level::Warning, "daemon", error.to_string(), advice);
        }
    };
    found.ok("daemon", format!("mptd {} answers", snapshot.daemon.program));
    for connection in &snapshot.connections {
        if let Some(session) = &connection.session
            && session.state != SessionState::Established
        {
            found.add(
                Level::Error,
                "session",
                session_message(connection, session.state),
                format!(
                    "check that UDP port {DEFAULT_PORT} is open at both hosts, and that each of them has the public key of the other one; docs/operations.md, section 12"
                ),
            );
        }
        if let Some(disagreement) = connection.disagreement {
            let sentence = disagreement.sentence();
            let (message, advice) = sentence.rsplit_once([':', ';']).unwrap_or((sentence, ""));
            let message = format!("connection {}: {message}", connection.name);
            found.add(Level::Error, "peer", message, advice.trim());
        }
        if let Some(session) = &connection.session {
            sealed(connection, session, found);
        }
        for path in &connection.paths {
            let name = format!("{} {}", connection.name, path.name);
            mtu(connection, path, &name, found);
            for problem in cap::problems(path) {
                let message = format!("connection {}: {problem}", connection.name);
                found.add(Level::Warning, "cap", message, "mpt show says what was carried");
            }
            match (path.state, path.down) {
                (PathState::Up, _) => found.ok("path", format!("{name}: up")),
                (_, Some(reason)) => {
                    let (level, advice) = advice(reason);
                    found.add(level, "path", format!("{name}: down ({reason})"), advice);
                }
                (state, None) => {
                    let message = format!("{name}: {state}");
                    found.add(
                        Level::Warning,
                        "path",
                        message,
                        "wait a few seconds; if nothing changes, run mpt doctor at the peer",
                    );
                }
            }
        }
    }
}

/// Adds a finding about the sealing of the data of a connection, where it is to be sealed.
fn sealed(connection: &Connection, session: &Session, found: &mut Findings) {
    let name = &connection.name;
    match session.data {
        Some(DataState::PlainPeer) => found.add(
            Level::Warning,
            "sealing",
            format!("connection {name}: data is neither encrypted nor authenticated, since its peer does not seal"),
            "write seal = \"on\" at the peer, too",
        ),
        Some(DataState::Refused) => found.add(
            Level::Error,
            "sealing",
            format!("connection {name}: no data, since its peer does not seal"),
            "write seal = \"on\" at the peer, too; or seal = \"off\" here, if data may travel in the clear",
        ),
        Some(DataState::Aes256Gcm | DataState::Chacha20Poly1305) => {
            found.ok("sealing", format!("connection {name}: data is encrypted and authenticated"));
        }
        Some(DataState::Plain | DataState::Waiting | DataState::Unknown) | None => {}
    }
}

/// The MTU of a path as it is in use, and whether it carries the IPv6 that its connection has.
fn mtu(connection: &Connection, path: &Path, name: &str, found: &mut Findings) {
    let source = match path.mtu_source {
        MtuSource::Configured => "configured",
        MtuSource::Interface => "of the interface",
        MtuSource::Probed => "probed",
        MtuSource::Reported => "reported by a router",
        MtuSource::Unknown => "of unknown source",
    };
    let message = format!("{name}: MTU {} ({source})", path.mtu);
    let needs_ipv6 = connection.networks.iter().any(|net| matches!(net, IpNet::V6(_)));
    if needs_ipv6 && !path.ipv6 {
        let message =
            format!("{message}: too small for IPv6, which takes {IPV6_MINIMUM} bytes inside");
        let advice = "IPv6 leaves over the other paths, if there are any; look for a tunnel or a misconfigured link on this one";
        return found.add(Level::Warning, "path mtu", message, advice);
    }
    found.ok("path mtu", message);
}

/// Says how far a session is that is not established.
fn session_message(connection: &Connection, state: SessionState) -> String {
    let what = match state {
        SessionState::Connecting => "connecting to its peer",
        SessionState::Creating => "waiting for its peer to create the connection",
        SessionState::Refused => "refused by its peer",
        SessionState::Established | SessionState::Unknown => "in a state this mpt does not know",
    };
    format!("connection {}: {what}", connection.name)
}

fn advice(reason: DownReason) -> (Level, &'static str) {
    match reason {
        DownReason::Administrative => (Level::Note, "mpt path up"),
        DownReason::Cap => (Level::Warning, "raise cap in the configuration, then mpt reload"),
        DownReason::Unresolved => (Level::Error, "see above: the name of the peer"),
        DownReason::Interface => {
            (Level::Error, "see above: the interface, the address and the route of the path")
        }
        DownReason::Unproven => {
            (Level::Error, "check that the UDP port is open in both directions on this path")
        }
        DownReason::Dead => (Level::Error, "check that line and its access to the Internet"),
        DownReason::Peer => {
            (Level::Warning, "the peer took it out of service: run mpt path up there")
        }
        DownReason::Unknown => {
            (Level::Warning, "a newer mpt knows the reason: install the version of the daemon")
        }
    }
}
