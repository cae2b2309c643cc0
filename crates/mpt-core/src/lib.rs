//! The multipath tunnel protocol without I/O, clock or randomness.
//!
//! A [`Node`] is the whole of it for one daemon: packets and datagrams go in, with the time, and what
//! is to be sent and delivered comes out. Its parts: [`tunnel`] carries the packets of connections
//! over their [`path`]s, chosen by a [`scheduler`] and put in order by [`reorder`]; [`session`] holds
//! the sessions by which two ends agree on that; [`compat`] talks to the papers' prototype. Times are
//! arguments, bytes belong to the caller, and nothing is allocated per packet.
#![forbid(unsafe_code)]

/// The helpers of the tests name the crate as its users do.
#[cfg(test)]
extern crate self as mpt_core;

mod adaptive;
pub mod compat;
mod fec;
pub mod liveness;
pub mod node;
pub mod path;
pub mod queue;
pub mod reorder;
mod sampling;
pub mod scheduler;
mod seal;
pub mod session;
pub mod tunnel;

pub use adaptive::{QueueState, RepairCounters, is_bulk};
pub use fec::FecCounters;
pub use node::{Lent, Node, PacketMemory, Span, Times};
pub use path::{DownReason, DownReasons, Estimate, Path, RateBounds, Transition};
pub use scheduler::Mapping;
pub use seal::Seal;
pub use session::{SHARD_BITS, Shard};
pub use tunnel::{
    Accepted, ConfigError, Connection, ConnectionConfig, ConnectionId, DatagramDrop, DatagramDrops,
    Departure, DeviceId, DeviceSink, Direction, InnerDrop, InnerDrops, InnerPacket, Nowhere,
    Outgoing, PathConfig, PathId, PortRange, Protect, Remarks, Remote, Repair, Selector,
    SelectorTable, SocketId, Sources, StoreId, Traffic, Transmit, Tunnels, advise, check, sequence,
};
