//! The simulator: TCP, Multipath TCP and the tunnel in virtual time.
//!
//! Endpoints are state machines without I/O ([`simulation::Sender`], [`simulation::Receiver`]), joined by the links of
//! `mpt-link` and driven by one queue of events ([`kernel`]). The same seed gives the same run on every machine, to
//! the nanosecond; that is what the hash of the trace shows.
#![forbid(unsafe_code)]

pub mod experiments;
pub mod kernel;
pub mod network;
pub mod reordering;
pub mod report;
pub mod simulation;
pub mod study;
pub mod sweep;
mod transport;
pub mod tunnel;

pub use kernel::{random, time};
pub use transport::{congestion, mptcp, ns3_2011, ranges, tcp};
