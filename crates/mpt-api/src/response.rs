//! The answers of the daemon.

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantNames};

use crate::{Clients, Event, Events, Snapshot, Token, Tokens, VERSION};

/// One line from the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Version of the API the daemon speaks; see [`VERSION`].
    pub version: u32,
    /// The answer, or an event.
    #[serde(flatten)]
    pub body: ResponseBody,
}

/// Exactly one of the keys `result`, `error` and `event`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseBody {
    /// The request was carried out.
    Result(Reply),
    /// The request was refused; nothing was changed.
    Error(Failure),
    /// Something happened; only after [`crate::Command::Monitor`].
    Event(Event),
}

/// The result of a request.
#[derive(Clone, Debug, IntoStaticStr, PartialEq, VariantNames, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Reply {
    /// To [`crate::Command::Status`].
    Status(Status),
    /// To [`crate::Command::Show`].
    Snapshot(Box<Snapshot>),
    /// To [`crate::Command::Clients`].
    Clients(Clients),
    /// To [`crate::Command::AddToken`].
    Token(Token),
    /// To [`crate::Command::Tokens`].
    Tokens(Tokens),
    /// To [`crate::Command::SetPath`].
    Done,
    /// To [`crate::Command::Reload`].
    Reloaded(Reloaded),
    /// To [`crate::Command::Monitor`]: events follow.
    Monitoring,
    /// To [`crate::Command::Events`].
    Events(Events),
    /// To the commands that change connections, paths in number, interfaces or keepalives.
    Changed(Changed),
    /// To [`crate::Command::Measure`].
    Measured(Measured),
}

/// The daemon that answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the daemon's program.
    pub program: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// Whole seconds since it started.
    pub uptime_s: u64,
}

/// The changes made by a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloaded {
    /// The changes applied, one sentence each, in the order in which they were made. Empty: nothing had changed.
    pub changes: Vec<String>,
    /// Keys that changed in the file but take effect only when the daemon is started again.
    pub restart: Vec<String>,
    /// The warnings about the file, as `mptd --check` prints them.
    pub warnings: Vec<String>,
}

/// The effect of a change at run time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The changes, one sentence each. Empty: nothing had to be changed.
    pub changes: Vec<String>,
    /// Warnings of settings that are allowed but probably mistakes, in the words of `mptd --check`.
    pub warnings: Vec<String>,
}

/// The result of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// The paths of the connection, in the order of the configuration.
    pub paths: Vec<MeasuredPath>,
    /// True if the weights were set as proposed.
    pub set: bool,
}

/// The speed of one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredPath {
    /// Its name.
    pub path: String,
    /// Bits per second from here to the peer, as counted there; `None`: not measured, since the path is down.
    pub out_bits_per_second: Option<u64>,
    /// Bits per second from the peer to here.
    pub in_bits_per_second: Option<u64>,
    /// Weight proposed; `None` where nothing was measured.
    pub weight: Option<u16>,
    /// Weight proposed for the packets that the peer sends.
    pub weight_in: Option<u16>,
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// For programs.
    pub code: Code,
    /// For people; may have several lines.
    pub message: String,
}

/// Kinds of refusal.
#[derive(
    Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, VariantNames, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Code {
    /// The request is not JSON, not a known command, or has a value out of range.
    BadRequest,
    /// The client speaks another version of the API.
    Version,
    /// No such connection, path or interface.
    NotFound,
    /// The configuration file, or the part of one in the request, is not usable; the running configuration stays.
    Config,
    /// The key of the client does not allow it; see `[[controller]]` and `[[client]]`.
    Denied,
    /// Too many clients, or the daemon is too busy to answer; try again.
    Busy,
    /// The daemon tried and failed.
    Failed,
    /// A code of a later daemon.
    #[serde(other)]
    Unknown,
}

impl Reply {
    /// Returns the key under which the answer stands in JSON ("snapshot").
    pub fn word(&self) -> &'static str {
        self.into()
    }
}

impl Response {
    /// A successful answer in the present version.
    pub fn result(reply: Reply) -> Self {
        Response { version: VERSION, body: ResponseBody::Result(reply) }
    }

    /// A refusal in the present version.
    pub fn error(failure: Failure) -> Self {
        Response { version: VERSION, body: ResponseBody::Error(failure) }
    }

    /// An event in the present version.
    pub fn event(event: Event) -> Self {
        Response { version: VERSION, body: ResponseBody::Event(event) }
    }
}

impl From<Result<Reply, Failure>> for Response {
    fn from(outcome: Result<Reply, Failure>) -> Self {
        outcome.map_or_else(Response::error, Response::result)
    }
}

impl Failure {
    /// A refusal of the given kind.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Failure { code, message: message.into() }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
