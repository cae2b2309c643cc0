//! The multipath tunnel protocol without I/O, clock or randomness.
//!
//! An [`Endpoint`] holds all connections of a daemon. For each packet from a TUN device it says
//! over which paths to send it, with which headers; each datagram from the network it assigns to
//! its connection, checks, puts in order and hands to the device. Times are arguments, bytes belong
//! to the caller, and nothing is allocated per packet.
#![forbid(unsafe_code)]

pub mod advise;
mod assign;
mod bucket;
pub mod compat;
mod config;
mod connection;
pub mod control;
mod counters;
mod endpoint;
mod foreign;
mod id;
mod ipv6;
pub mod node;
pub mod path;
pub mod reorder;
pub mod scheduler;
mod scope;
mod selector;
pub mod sequence;
mod sources;
mod tables;
mod timers;

pub use assign::Assignments;
pub use config::{ConfigError, ConnectionConfig, Direction, PathConfig};
pub use connection::Connection;
pub use counters::{Accepted, DatagramDrops, InnerDrops, Remarks, Traffic};
pub use endpoint::{
    AcceptedDatagram, DatagramDrop, DeviceSink, Endpoint, InnerDrop, InnerPacket, Nowhere,
    Outgoing, Transmit,
};
pub use id::{ConnectionId, DeviceId, PathId, SocketId};
pub use node::{Lent, Node, PacketMemory, Span};
pub use path::{DownReason, DownReasons, Path, Transition};
pub use scheduler::Mapping;
pub use selector::{PortRange, Selector, SelectorTable};
pub use sources::Sources;
pub use tables::check;
