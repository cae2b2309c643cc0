//! The simulator: TCP, Multipath TCP and the tunnel in virtual time.
//!
//! Endpoints are state machines without I/O ([`simulation::Sender`], [`simulation::Receiver`]), joined by the links of
//! `mpt-link` and driven by one queue of events ([`kernel`]). The same seed gives the same run on every machine, to
//! the nanosecond; that is what the hash of the trace shows.
#![forbid(unsafe_code)]

pub mod congestion;
pub mod experiments;
pub mod kernel;
pub mod mptcp;
pub mod network;
pub mod ns3_2011;
pub mod random;
pub mod ranges;
pub mod reordering;
pub mod report;
pub mod simulation;
pub mod study;
pub mod sweep;
pub mod tcp;
pub mod time;
pub mod tunnel;
