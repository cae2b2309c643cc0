//! An event for people.

use std::fmt;
use std::time::{Duration, SystemTime};

use mpt_api::{Event, EventKind};

use crate::show::path_state;

/// One event as one line, its time in UTC.
pub(crate) struct Text<'a>(pub(crate) &'a Event);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Later than any clock shows would not fit the date.
        const LATEST_MS: u64 = 253_402_300_799_999;
        let time = Duration::from_millis(self.0.time_ms.min(LATEST_MS));
        let time = humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + time);
        write!(f, "{time} ")?;
        match &self.0.kind {
            EventKind::PathChanged {
                connection,
                path,
                state,
                down,
                weight,
                weight_in,
                tier,
                mtu,
            } => {
                let state = path_state(*state, *down);
                write!(
                    f,
                    "{connection} {path}: {state}, weight {weight}, weight_in {weight_in}, tier {tier}, MTU {mtu}"
                )
            }
            EventKind::PathAdded { connection, path } => write!(f, "{connection} {path}: added"),
            EventKind::PathRemoved { connection, path } => {
                write!(f, "{connection} {path}: removed")
            }
            EventKind::ConnectionAdded { connection } => write!(f, "{connection}: added"),
            EventKind::ConnectionRemoved { connection } => write!(f, "{connection}: removed"),
            EventKind::Reloaded { changes } => {
                write!(f, "configuration reloaded, {changes} changes applied")
            }
            EventKind::Missed { count } => write!(f, "{count} events missed"),
            EventKind::Unknown => f.write_str("event of a kind this mpt does not know; see --json"),
        }
    }
}
