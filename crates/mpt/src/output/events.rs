//! An event for people.

use std::fmt;
use std::time::{Duration, SystemTime};

use mpt_api::{AtCap, Event, EventKind, LossReason, SessionRole};
use mpt_text::quantity;

use crate::output::show::{bounds, path_state};

/// One event as one line, its time in UTC.
pub(crate) struct Text<'a>(pub(crate) &'a Event);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Later than any clock shows would not fit the date.
        const LATEST_MS: u64 = 253_402_300_799_999;
        let time = Duration::from_millis(self.0.time_ms.min(LATEST_MS));
        let time = humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + time);
        write!(f, "{time} {}", Description(&self.0.kind))
    }
}

/// The event, without its time.
pub(crate) struct Description<'a>(pub(crate) &'a EventKind);

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            EventKind::PathChanged {
                connection,
                path,
                state,
                down,
                weight,
                weight_in,
                tier,
                max_rate,
                min_rate,
                mtu,
            } => {
                let state = path_state(*state, *down);
                write!(
                    f,
                    "{connection} {path}: {state}, weight {weight}, weight_in {weight_in}, tier {tier}, MTU {mtu}"
                )?;
                match bounds(*max_rate, *min_rate) {
                    Some(bounds) => write!(f, ", {bounds}"),
                    None => Ok(()),
                }
            }
            EventKind::PathAdded { connection, path } => write!(f, "{connection} {path}: added"),
            EventKind::PathRemoved { connection, path } => {
                write!(f, "{connection} {path}: removed")
            }
            EventKind::PathMoved { connection, path, remote } => {
                write!(f, "{connection} {path}: the peer is now at {remote}")
            }
            EventKind::CapNear { connection, path, percent, used, limit } => {
                let (used, limit) = (quantity::bytes(*used), quantity::bytes(*limit));
                write!(f, "{connection} {path}: {used} of its cap of {limit} used ({percent} %)")
            }
            EventKind::CapReached { connection, path, used, limit, at_cap } => {
                let (used, limit) = (quantity::bytes(*used), quantity::bytes(*limit));
                let then = match at_cap {
                    AtCap::Backup => "used only while no other path works",
                    AtCap::Stop => "carries nothing until the next period",
                    AtCap::Warn | AtCap::Unknown => "used beyond it",
                };
                write!(f, "{connection} {path}: cap of {limit} reached with {used}, {then}")
            }
            EventKind::CapReset { connection, path, used, limit } => {
                let (used, limit) = (quantity::bytes(*used), quantity::bytes(*limit));
                write!(f, "{connection} {path}: new period of its cap of {limit}, after {used}")
            }
            EventKind::SessionEstablished { connection, peer, peer_name, role } => {
                let role = match role {
                    SessionRole::Initiator => "opened here",
                    SessionRole::Responder => "opened by the peer",
                    SessionRole::Unknown => "opened",
                };
                let peer = self::peer(peer, peer_name.as_deref());
                write!(f, "{}: session with {peer} {role}", session(connection.as_deref()))
            }
            EventKind::SessionLost { connection, peer, peer_name, reason } => {
                let peer = self::peer(peer, peer_name.as_deref());
                let session = session(connection.as_deref());
                write!(f, "{session}: session with {peer} lost: {}", self::reason(*reason))
            }
            EventKind::ClientAdded { client, connection } => {
                write!(f, "{connection}: created for client {client}")
            }
            EventKind::ClientRemoved { client, connection, reason } => {
                write!(f, "{connection}: of client {client} removed: {}", self::reason(*reason))
            }
            EventKind::ConnectionAdded { connection } => write!(f, "{connection}: added"),
            EventKind::ConnectionRemoved { connection } => write!(f, "{connection}: removed"),
            EventKind::Reloaded { changes } => {
                write!(f, "configuration reloaded, {} applied", quantity::count(*changes, "change"))
            }
            EventKind::Missed { count } => write!(f, "{} missed", quantity::count(*count, "event")),
            EventKind::Unknown => f.write_str("event of a kind this mpt does not know; see --json"),
        }
    }
}

fn session(connection: Option<&str>) -> &str {
    connection.unwrap_or("steering")
}

/// Returns the name of the peer, or its key where it has none.
fn peer<'a>(key: &'a str, name: Option<&'a str>) -> &'a str {
    name.unwrap_or(key)
}

fn reason(reason: LossReason) -> &'static str {
    match reason {
        LossReason::Silent => "nothing heard",
        LossReason::PeerShutDown => "the peer shut down",
        LossReason::PeerRemoved => "the peer removed the connection",
        LossReason::Refused => "the peer refused it",
        LossReason::Removed => "removed here",
        LossReason::Policy => "no longer allowed as it was",
        LossReason::Unknown => "for a reason this mpt does not know",
    }
}
