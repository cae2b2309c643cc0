//! The requests and results of the two peers of a session: bodies of the control protocol, as JSON.
//!
//! A body is one [`SessionRequest`], its result one [`SessionReply`]. Unlike requests on the local socket, which come from
//! programs of the same release, these come from the peer, of any release: fields that are not known are ignored and
//! those left out have defaults, so that both peers can grow; a request whose name is not known is answered with
//! [`SessionCode::Unsupported`].
//!
//! In a session of a controller the bodies are the request and response lines of the local socket ([`crate::Request`],
//! [`crate::Response`]), without their newlines.
//!
//! Everything is seen from the end that sends the request: `weight` is the share of the packets it sends itself,
//! `weight_in` the share it would like to be sent.

use std::fmt::Write as _;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantNames};

use crate::{Mapping, is_name};

/// Longest body of a request in bytes: what one frame of the control protocol carries, whatever the path's MTU.
pub const MAX_REQUEST: usize = 1024;
/// Longest body of a result in bytes.
pub const MAX_RESULT: usize = 1 << 20;
/// The most paths of a connection: the control protocol announces all of them in one frame.
pub const MAX_PATHS: usize = 128;
/// The most networks, and the most addresses, in one request, so that several paths find room beside them.
pub const MAX_NETWORKS: usize = 16;

/// A request to the peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionRequest {
    /// Create the connection of this session: answered with [`SessionResult::Created`]. Asked again for a connection that
    /// exists (the answer was lost, the client was restarted) it brings it up to date, with the same answer.
    Create(Create),
    /// Remove the connection of this session: answered with [`SessionResult::Done`].
    Delete {},
    /// Add a path, or change one of the same number: answered with [`SessionResult::Done`].
    PathAdd(PathSpec),
    /// Remove a path: answered with [`SessionResult::Done`], also when there is none of that number.
    PathDelete {
        /// Its number in the session.
        id: u16,
    },
    /// Take part in a speed test of one path in one direction: answered with [`SessionResult::Done`] when the test has begun.
    MeasureStart(MeasureStart),
    /// Register the key of this session as that of a client, only in a session of kind joining: answered with
    /// [`SessionResult::Joined`]. Asked again under the same key it gets the same answer.
    Join(Join),
    /// Asks for the result of a test: answered with [`SessionResult::Measured`] by the end that received it.
    MeasureResult {
        /// Number given in [`MeasureStart`].
        test: u32,
    },
}

/// The host that wants to become a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// Name that the host gives itself. The server derives the name of its `[[client]]` from it, unless the token has one.
    #[serde(default)]
    pub host: String,
}

/// The client that a host has become.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// Name of its `[[client]]` at the server.
    pub client: String,
    /// Networks that are reached through the server: those to route into the tunnel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<IpNet>,
}

/// The connection that a client wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Create {
    /// Its name at the client; at the server the name of the `[[client]]` is put before it.
    pub name: String,
    /// Networks behind the client, its own inner address not included. Empty: all that the server's `[[client]]` allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<IpNet>,
    /// Inner addresses that the client has already and would like to keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpNet>,
    /// The GRE key that the client would like to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<u32>,
    /// Mapping of the client; the server uses the same.
    #[serde(default)]
    pub mapping: Mapping,
    /// True if packets carry sequence numbers.
    #[serde(default = "yes")]
    pub sequence: bool,
    /// True if packets carry GRE checksums.
    #[serde(default)]
    pub checksum: bool,
    /// True if the outer UDP header carries a checksum over IPv4.
    #[serde(default = "yes")]
    pub udp_checksum: bool,
    /// Receive window the client would like the server to have, in packets; the server may take less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u16>,
    /// The longest the server should hold a packet back, in milliseconds; it may take less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_delay_ms: Option<u32>,
    /// Its paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathSpec>,
}

/// A path that the peer is to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathSpec {
    /// Its number in the session, from 1; given by the initiator of the session and never given again.
    pub id: u16,
    /// Its name.
    pub name: String,
    /// Share of the packets sent by the end that asks.
    #[serde(default = "one")]
    pub weight: u16,
    /// Share of the packets that it would like to be sent.
    #[serde(default = "one")]
    pub weight_in: u16,
    /// Tier: 0 carries data first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tier: u8,
    /// Path MTU in bytes as the end that asks knows it; the other takes the smaller of its own and this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u16>,
}

/// A speed test of one path in one direction. The end that sends marks as much of a path's time as it needs, and no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureStart {
    /// Number of the test, by which its result is asked.
    pub test: u32,
    /// Number of the path.
    pub path: u16,
    /// The sending end; the receiving one counts what arrives.
    pub sender: MeasureSender,
    /// Duration in milliseconds; see [`crate::MEASURE_MS`].
    pub duration_ms: u32,
    /// The most to be sent, in bits per second; `None`: no bound but the sender's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// The sending end in a speed test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasureSender {
    /// The end that asks for the test.
    Asking,
    /// The end that is asked.
    Asked,
}

/// The outcome of a request: exactly one of the keys `ok` and `error`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionReply {
    /// It was carried out.
    Ok(SessionResult),
    /// It was refused; nothing was changed.
    Error(SessionFailure),
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionResult {
    /// Done.
    Done,
    /// To [`SessionRequest::Create`].
    Created(Created),
    /// To [`SessionRequest::Join`].
    Joined(Joined),
    /// To [`SessionRequest::MeasureResult`].
    Measured {
        /// True if the test has ended; else this is how far it is.
        #[serde(default = "yes")]
        finished: bool,
        /// Bytes of outer IP packets received.
        bytes: u64,
        /// Time from the first to the last of them, in microseconds.
        duration_us: u64,
    },
}

/// The connection as the server made it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// The GRE key that every packet of the connection carries, in both directions; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<u32>,
    /// Inner addresses given to the client, with the prefix lengths of their networks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpNet>,
    /// The server's own inner addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_addresses: Vec<IpNet>,
    /// The networks behind the client that the server lets through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<IpNet>,
    /// The most paths the connection may have; 0: as many as the protocol allows.
    #[serde(default, skip_serializing_if = "is_none_at_all")]
    pub max_paths: u16,
    /// The largest weight that is honoured; larger ones count as this. 0: no bound.
    #[serde(default, skip_serializing_if = "is_none_at_all")]
    pub max_weight: u16,
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFailure {
    /// For programs.
    pub code: SessionCode,
    /// For people.
    #[serde(default)]
    pub message: String,
}

/// Kinds of refusal.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SessionCode {
    /// The body is not a request, or has a value out of range.
    BadRequest,
    /// A request that this host does not know, or not in this session.
    Unsupported,
    /// The policy does not allow it: another network, too many paths or connections.
    Denied,
    /// Too many at one time, or no address left in the pool; try again later.
    Busy,
    /// No such path, test or connection.
    NotFound,
    /// It was tried and failed.
    Failed,
    /// A code of a later release.
    #[serde(other)]
    Unknown,
}

impl Default for PathSpec {
    fn default() -> Self {
        PathSpec { id: 0, name: String::new(), weight: 1, weight_in: 1, tier: 0, mtu: None }
    }
}

impl SessionRequest {
    /// The body.
    ///
    /// # Panics
    ///
    /// Never: its maps have string keys and nothing in it can fail to serialise.
    pub fn to_body(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("API types serialise to JSON")
    }

    /// Reads a body.
    ///
    /// # Errors
    ///
    /// [`SessionCode::Unsupported`] for a request of another name, [`SessionCode::BadRequest`] for everything else that is
    /// wrong with it: its length, its form, its values.
    pub fn parse(body: &[u8]) -> Result<SessionRequest, SessionFailure> {
        /// Every name of a request, so that one of a later release is told from a bad one.
        const KNOWN: [&str; 7] = [
            "create",
            "delete",
            "path_add",
            "path_delete",
            "join",
            "measure_start",
            "measure_result",
        ];
        let bad = |message: String| SessionFailure::new(SessionCode::BadRequest, message);
        if body.len() > MAX_REQUEST {
            return Err(bad(format!("the request is longer than {MAX_REQUEST} bytes")));
        }
        let request = match serde_json::from_slice::<SessionRequest>(body) {
            Ok(request) => request,
            Err(error) => {
                let value = serde_json::from_slice(body).ok();
                let object = value.as_ref().and_then(serde_json::Value::as_object);
                let name = object.and_then(|object| object.keys().next());
                return Err(match name {
                    Some(name) if !KNOWN.contains(&name.as_str()) => SessionFailure::new(
                        SessionCode::Unsupported,
                        "this host does not know the request",
                    ),
                    _ => bad(format!("not a request: {error}")),
                });
            }
        };
        request.check().map_err(bad)?;
        Ok(request)
    }

    fn check(&self) -> Result<(), String> {
        match self {
            SessionRequest::Create(create) => {
                if !is_name(&create.name) {
                    return Err("the connection has no proper name".into());
                }
                if create.paths.len() > MAX_PATHS {
                    return Err(format!("more than {MAX_PATHS} paths"));
                }
                if create.networks.len().max(create.addresses.len()) > MAX_NETWORKS {
                    return Err(format!("more than {MAX_NETWORKS} networks"));
                }
                for (index, path) in create.paths.iter().enumerate() {
                    path.check()?;
                    let earlier = &create.paths[..index];
                    if earlier.iter().any(|it| it.id == path.id || it.name == path.name) {
                        return Err(format!("two paths with id {} or name {}", path.id, path.name));
                    }
                }
                Ok(())
            }
            SessionRequest::PathAdd(path) => path.check(),
            SessionRequest::PathDelete { id: 0 } => Err("path ids start at 1".into()),
            SessionRequest::MeasureStart(start) if start.path == 0 => {
                Err("path ids start at 1".into())
            }
            SessionRequest::MeasureStart(start)
                if !crate::MEASURE_MS.contains(&start.duration_ms) =>
            {
                Err(format!(
                    "{} ms is not a duration; write {} to {}",
                    start.duration_ms,
                    crate::MEASURE_MS.start(),
                    crate::MEASURE_MS.end()
                ))
            }
            _ => Ok(()),
        }
    }
}

impl PathSpec {
    fn check(&self) -> Result<(), String> {
        if self.id == 0 {
            return Err("path ids start at 1".into());
        }
        if !is_name(&self.name) {
            return Err(format!("path {} has no proper name", self.id));
        }
        if self.weight == 0 || self.weight_in == 0 {
            return Err(format!("path {}: weights start at 1", self.id));
        }
        Ok(())
    }
}

impl Create {
    /// The requests that create the connection, in the order in which they have to be made: the first creates it with as many of
    /// its paths as fit a request, the rest add one path each.
    ///
    /// # Errors
    ///
    /// [`SessionCode::BadRequest`] when it does not fit a request even without paths, or has a value out of range.
    pub fn into_requests(mut self) -> Result<Vec<SessionRequest>, SessionFailure> {
        let fits =
            |create: &Create| SessionRequest::Create(create.clone()).to_body().len() <= MAX_REQUEST;
        let bad = |message: String| SessionFailure::new(SessionCode::BadRequest, message);
        SessionRequest::Create(self.clone()).check().map_err(bad)?;
        let paths = std::mem::take(&mut self.paths);
        if !fits(&self) {
            return Err(bad(format!("its networks and addresses do not fit {MAX_REQUEST} bytes")));
        }
        let mut later = Vec::new();
        for path in paths {
            if later.is_empty() {
                self.paths.push(path);
                if !fits(&self) {
                    later.extend(self.paths.pop());
                }
            } else {
                later.push(path);
            }
        }
        let first = std::iter::once(SessionRequest::Create(self));
        Ok(first.chain(later.into_iter().map(SessionRequest::PathAdd)).collect())
    }
}

impl SessionReply {
    /// The body.
    ///
    /// # Panics
    ///
    /// Never, as [`SessionRequest::to_body`].
    pub fn to_body(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("API types serialise to JSON")
    }

    /// Reads the body of a result.
    ///
    /// # Errors
    ///
    /// [`SessionCode::BadRequest`] when it is none; a failure that the peer reports is no error here.
    pub fn parse(body: &[u8]) -> Result<SessionReply, SessionFailure> {
        let bad = |message: String| SessionFailure::new(SessionCode::BadRequest, message);
        if body.len() > MAX_RESULT {
            return Err(bad(format!("the result is longer than {MAX_RESULT} bytes")));
        }
        serde_json::from_slice(body).map_err(|error| bad(format!("not a result: {error}")))
    }
}

impl From<Result<SessionResult, SessionFailure>> for SessionReply {
    fn from(outcome: Result<SessionResult, SessionFailure>) -> Self {
        outcome.map_or_else(SessionReply::Error, SessionReply::Ok)
    }
}

impl From<SessionFailure> for SessionReply {
    fn from(failure: SessionFailure) -> Self {
        SessionReply::Error(failure)
    }
}

impl SessionFailure {
    /// A refusal of the given kind.
    pub fn new(code: SessionCode, message: impl Into<String>) -> Self {
        SessionFailure { code, message: message.into() }
    }
}

impl std::fmt::Display for SessionFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The peer has written it: nothing in it may steer a terminal. Quotes harm nobody, and stay as they are.
        self.message.chars().try_for_each(|c| match c {
            '"' | '\'' => f.write_char(c),
            _ => write!(f, "{}", c.escape_debug()),
        })
    }
}

impl std::error::Error for SessionFailure {}

fn yes() -> bool {
    true
}

fn one() -> u16 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(value: &u8) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_none_at_all(value: &u16) -> bool {
    *value == 0
}
