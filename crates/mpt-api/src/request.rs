//! The requests of a client.

use std::num::NonZeroU16;
use std::time::Duration;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

use crate::{Code, Failure, MAX_REQUEST, Permission, VERSION};

/// One request line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Version of the API the client speaks; see [`VERSION`].
    pub version: u32,
    /// The command.
    pub command: Command,
}

/// A command of a client.
#[derive(Clone, Debug, PartialEq, Eq, VariantNames, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[strum(serialize_all = "snake_case")]
pub enum Command {
    /// Asks for the identity of the daemon: answered with [`crate::Reply::Status`].
    Status,
    /// Everything as it stands now: answered with [`crate::Reply::Snapshot`].
    Show,
    /// Asks for one connection and its device: answered with [`crate::Reply::Snapshot`], one that does not exist with
    /// [`Code::NotFound`].
    ShowConnection {
        /// Name of the connection.
        connection: String,
    },
    /// Changes one path until the daemon restarts or a reload changes that key: answered with [`crate::Reply::Done`].
    /// It takes effect with the next packet and loses none.
    SetPath {
        /// Name of the connection.
        connection: String,
        /// Name of the path within the connection.
        path: String,
        /// The changes.
        change: PathChange,
    },
    /// Reads the configuration file again and applies the difference: answered with [`crate::Reply::Reloaded`]; a bad
    /// file changes nothing and is answered with [`Code::Config`].
    Reload,
    /// Events from now on: answered with [`crate::Reply::Monitoring`], then one [`crate::Event`] per line.
    Monitor,
    /// Events behind a cursor, for programs that ask again and again, as in a session with a daemon elsewhere, which carries answers alone:
    /// answered with [`crate::Reply::Events`] as soon as there are any.
    Events {
        /// The cursor of the answer before; `None`: only the cursor for those to come is asked for, which is answered at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
        /// The time to wait for an event, in milliseconds, at most [`EVENTS_WAIT_MS`]. A daemon with too many that wait answers sooner.
        wait_ms: u32,
    },
    /// Adds a path to a connection until the daemon restarts or a reload changes the connection: answered with
    /// [`crate::Reply::Changed`]; a bad table changes nothing and is answered with [`Code::Config`].
    AddPath {
        /// Name of the connection.
        connection: String,
        /// The path, as the keys of one `[[connection.path]]` table of the configuration file, without its header:
        /// what is wrong with it is then told in the words of the file, by line and key.
        toml: String,
    },
    /// Removes a path: answered with [`crate::Reply::Changed`]. The last path of a connection cannot be removed.
    DeletePath {
        /// Name of the connection.
        connection: String,
        /// Name of the path.
        path: String,
    },
    /// Takes every path on an interface administratively up or down, as [`Command::SetPath`] does for one: answered
    /// with [`crate::Reply::Changed`]; an interface that no path uses with [`Code::NotFound`].
    SetInterface {
        /// Name of the interface.
        interface: String,
        /// Up or down.
        up: bool,
    },
    /// Creates a connection until the daemon restarts or a reload brings one of the same name: answered with
    /// [`crate::Reply::Changed`]; a bad text changes nothing and is answered with [`Code::Config`].
    CreateConnection {
        /// One `[[connection]]` of the configuration file with its sub-tables and headers.
        toml: String,
    },
    /// Lists the clients and the connections that they have: answered with [`crate::Reply::Clients`].
    Clients,
    /// Ends the sessions of a client and removes its connections: answered with [`crate::Reply::Changed`], a name that no
    /// `[[client]]` has with [`Code::NotFound`]. The client may come back: only a reload without its table keeps it out.
    DisconnectClient {
        /// Name of the `[[client]]`.
        client: String,
    },
    /// Makes a token with which one host may register its key as that of a client: answered with [`crate::Reply::Token`].
    AddToken {
        /// Name of the `[[client]]` that it becomes; `None`: as the host calls itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<String>,
        /// Name of the `[[pool]]` that gives the client its addresses; `None`: the only one there is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pool: Option<String>,
        /// Networks that the client is told to route into the tunnel. Empty: those of the pool.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        networks: Vec<IpNet>,
        /// Networks behind the client.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        behind: Vec<IpNet>,
        /// Seconds for which the token is good, of [`TOKEN_S`].
        lifetime_s: u32,
    },
    /// Lists the tokens that are good: answered with [`crate::Reply::Tokens`].
    Tokens,
    /// Takes a token back, whether or not it was used: answered with [`crate::Reply::Changed`]. The client that it made stays.
    RevokeToken {
        /// The name of the token, as [`crate::Token::id`].
        token: String,
    },
    /// Removes a connection with its paths: answered with [`crate::Reply::Changed`]. The connection of a client ends with its session, and the client
    /// may ask for it again.
    DeleteConnection {
        /// Name of the connection.
        connection: String,
    },
    /// Writes a connection, as it is now, into the configuration file, which keeps everything else as it stands:
    /// answered with [`crate::Reply::Changed`]. One that was removed is taken out of the file.
    SaveConnection {
        /// Name of the connection.
        connection: String,
    },
    /// Changes how often the paths of a connection with a session are probed while it carries traffic, until the daemon
    /// restarts or a reload changes that key: answered with [`crate::Reply::Changed`].
    SetKeepalive {
        /// Name of the connection.
        connection: String,
        /// Name of a path; `None`: all of the connection.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Distance of the probes in microseconds, of [`KEEPALIVE_US`]; 0: no probes, so that only carrier and administrator
        /// decide.
        keepalive_us: u64,
    },
    /// Measures the speed of every path of a connection with a session, in both directions, and proposes weights
    /// (almasi2017, equation 1): answered with [`crate::Reply::Measured`] when done.
    Measure {
        /// Name of the connection.
        connection: String,
        /// True if the weights are set as proposed.
        set: bool,
        /// Length of the test of one path in one direction, in milliseconds; see [`MEASURE_MS`].
        duration_ms: u32,
    },
}

/// Durations that [`Command::Measure`] accepts, in milliseconds: a shorter test hardly fills a path, and a longer one only
/// keeps it from useful traffic.
pub const MEASURE_MS: std::ops::RangeInclusive<u32> = 100..=10_000;

/// Probe intervals that [`Command::SetKeepalive`] accepts, in microseconds, besides 0: faster probes would be a load of their own,
/// and slower ones would find nothing out.
pub const KEEPALIVE_US: std::ops::RangeInclusive<u64> = 10_000..=60_000_000;

/// The longest that [`Command::Events`] may wait, in milliseconds: less than a session gives up on an answer after.
pub const EVENTS_WAIT_MS: u32 = 20_000;

/// For how long a token of [`Command::AddToken`] may be good, in seconds.
pub const TOKEN_S: std::ops::RangeInclusive<u32> = 60..=86_400;

impl Command {
    /// The longest the daemon takes to answer before it says that it is busy. A client waits somewhat longer.
    pub fn answered_within(&self) -> Duration {
        match self {
            // Path by path, in both directions.
            Command::Measure { .. } => Duration::from_secs(600),
            // A reload waits for the kernel.
            _ => Duration::from_secs(30),
        }
    }

    /// Returns what a controller has to be allowed for it.
    pub fn permission(&self) -> Permission {
        match self {
            Command::Status | Command::Show | Command::ShowConnection { .. } | Command::Clients => {
                Permission::Show
            }
            Command::Monitor | Command::Events { .. } => Permission::Monitor,
            Command::SetPath { .. }
            | Command::AddPath { .. }
            | Command::DeletePath { .. }
            | Command::SetInterface { .. }
            | Command::SetKeepalive { .. }
            | Command::Measure { .. } => Permission::Path,
            Command::CreateConnection { .. }
            | Command::DeleteConnection { .. }
            | Command::DisconnectClient { .. }
            | Command::AddToken { .. }
            | Command::Tokens
            | Command::RevokeToken { .. }
            | Command::SaveConnection { .. } => Permission::Connection,
            Command::Reload => Permission::Reload,
        }
    }
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
    /// Share of the packets that the peer sends here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_in: Option<NonZeroU16>,
    /// Tier: 0 carries data first; tier n only while every path of a smaller number is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<u8>,
    /// The greatest rate that is learnt of it, in bit/s of outer packets; 0 takes the bound away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<u64>,
    /// The least rate at which it is given packets, in bit/s of outer packets; 0 takes the bound away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<u64>,
}

impl PathChange {
    /// True if it changes nothing at all, which the daemon refuses.
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
