//! Types of the local control API, shared by the daemon, its command line, the laboratory and external programs.
//!
//! # Protocol
//!
//! A client connects to the daemon's UNIX stream socket ([`DEFAULT_SOCKET`]) and writes requests; the daemon answers each
//! with one response, in order. Every message is one JSON object on one line, ended by `\n`, and carries the version of
//! the API:
//!
//! ```text
//! -> {"version":2,"command":"show"}
//! <- {"version":2,"result":{"snapshot":{...}}}
//! -> {"version":2,"command":{"set_path":{"connection":"office","path":"dsl","change":{"weight":3}}}}
//! <- {"version":2,"result":"done"}
//! -> {"version":2,"command":"monitor"}
//! <- {"version":2,"result":"monitoring"}
//! <- {"version":2,"event":{"time_ms":1760000000000,"event":"path_changed",...}}
//! -> {"version":7,"command":"show"}
//! <- {"version":2,"error":{"code":"version","message":"..."}}
//! ```
//!
//! After `monitor` the connection carries events only, until either side closes it.
//!
//! # Compatibility
//!
//! Within one version, responses may gain fields and events may gain kinds: clients ignore what they do not know.
//! Requests are strict: an unknown field or command is refused, so that a misspelt one never goes unnoticed. Anything else
//! raises [`VERSION`]; the daemon refuses other versions with code [`Code::Version`].
#![forbid(unsafe_code)]

mod adaptive;
mod clients;
mod event;
mod facts;
mod line;
mod name;
mod request;
mod response;
pub mod session;
pub mod snapshot;
mod token;
mod version;

pub use adaptive::{Estimate, Queue, Repairs, ShortFlows};
pub use clients::{Client, ClientConnection, Clients};
pub use event::{Event, EventKind, Events, LossReason, now_ms};
pub use facts::{
    AtCap, CapCounts, CapPeriod, Direction, Ecn, Equalize, Late, Mapping, Offload, Permission,
    Repair, Seal,
};
pub use line::{read_line, to_line};
pub use name::{MAX_NAME, is_name};
pub use request::{
    Command, EVENTS_WAIT_MS, KEEPALIVE_US, MEASURE_MS, PathChange, Request, TOKEN_S,
};
pub use response::{
    Changed, Code, Failure, Measured, MeasuredPath, Reloaded, Reply, Response, ResponseBody, Status,
};
pub use snapshot::{
    Cap, Connection, ConnectionState, Counters, Daemon, DataState, Delays, Device, Disagreement,
    DownReason, Liveness, MtuSource, Path, PathState, Reorder, Session, SessionRole, SessionState,
    Snapshot, Traffic,
};
pub use token::{Token, Tokens};
pub use version::{DEFAULT_SOCKET, MAX_REQUEST, MAX_RESPONSE, VERSION};
