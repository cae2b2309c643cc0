//! Segmentation and coalescing for a TUN device with a virtio-net header.
//!
//! A TUN device that offers TSO and USO hands over *super-packets*: up to 64 KB of one flow behind a single IP and TCP or UDP header, with a
//! [`VnetHeader`] in front that says how to cut them. Ordinary packets travel through the tunnel, each with its own GRE sequence number.
//! [`Segmenter`] makes the headers of those packets; the payload stays where it was read. [`Coalescer`] does the reverse for packets that come out of
//! the reorder buffer.
//!
//! Everything here is pure: no system calls, no clock, no allocation after construction. Bytes from the wire and from the
//! kernel are checked alike; neither can cause a panic.

#![forbid(unsafe_code)]

pub mod coalesce;
mod header;
mod run;
pub mod segment;
pub mod vnet;

pub use coalesce::{Coalescer, Mergeable, Piece, Sink};
pub use segment::Segmenter;
pub use vnet::{Malformed, VnetHeader};
