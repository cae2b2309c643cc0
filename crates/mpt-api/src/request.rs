//! What a client asks.

use std::num::NonZeroU16;

use serde::{Deserialize, Serialize};

use crate::{Code, Failure, MAX_REQUEST, VERSION};

/// One request line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Version of the API the client speaks; see [`VERSION`].
    pub version: u32,
    /// What it wants.
    pub command: Command,
}

/// What a client can ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Who is there: answered with [`crate::Reply::Status`].
    Status,
    /// Everything as it stands now: answered with [`crate::Reply::Snapshot`].
    Show,
    /// Changes one path until the daemon restarts or a reload changes that key: answered with [`crate::Reply::Done`].
    /// It takes effect with the next packet and loses none.
    SetPath {
        /// Name of the connection.
        connection: String,
        /// Name of the path within the connection.
        path: String,
        /// What to change.
        change: PathChange,
    },
    /// Reads the configuration file again and applies the difference: answered with [`crate::Reply::Reloaded`]; a bad
    /// file changes nothing and is answered with [`Code::Config`].
    Reload,
    /// Events from now on: answered with [`crate::Reply::Monitoring`], then one [`crate::Event`] per line.
    Monitor,
}

/// Changes to one path; `None` leaves a value as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathChange {
    /// Administratively up or down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
    /// Share of the packets sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<NonZeroU16>,
    /// Share of the packets that the other end sends here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_in: Option<NonZeroU16>,
    /// Tier: 0 carries data first; tier n only while every path of a smaller number is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<u8>,
}

impl PathChange {
    /// Whether it changes nothing at all, which the daemon refuses.
    pub fn is_empty(&self) -> bool {
        *self == PathChange::default()
    }
}

impl Request {
    /// A request in the present version.
    pub fn new(command: Command) -> Self {
        Request { version: VERSION, command }
    }

    /// Reads one request line, without its newline.
    ///
    /// # Errors
    ///
    /// [`Code::Version`] when the client speaks another version (whatever else the line holds), [`Code::BadRequest`] when
    /// the line is too long, not JSON or not a request.
    pub fn parse(line: &[u8]) -> Result<Request, Failure> {
        #[derive(Deserialize)]
        struct Envelope {
            version: Option<u32>,
        }
        if line.len() > MAX_REQUEST {
            return Err(Failure::new(
                Code::BadRequest,
                format!("the request is longer than {MAX_REQUEST} bytes"),
            ));
        }
        let bad = |error: serde_json::Error| {
            Failure::new(Code::BadRequest, format!("not a request: {error}"))
        };
        let envelope: Envelope = serde_json::from_slice(line).map_err(bad)?;
        match envelope.version {
            Some(VERSION) => serde_json::from_slice(line).map_err(bad),
            Some(other) => Err(Failure::new(
                Code::Version,
                format!(
                    "the request is in version {other} of the control API, this daemon speaks version {VERSION}"
                ),
            )),
            None => Err(Failure::new(
                Code::BadRequest,
                format!("the request has no version; write \"version\":{VERSION}"),
            )),
        }
    }
}
