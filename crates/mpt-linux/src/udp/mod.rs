//! UDP sockets that move batches: `UDP_SEGMENT` on the way out, `UDP_GRO` on the way in, the error queue for path MTU.
//!
//! An own thin layer, because the crates take one contiguous slice per batch, where a tunnel has headers here and payload there,
//! and because they own the traffic-class byte, which a tunnel must set and read itself (RFC 6040).

mod arrival;
mod cmsg;
mod error_queue;
mod features;
mod receive;
mod send;
mod socket;

pub use arrival::ArrivalClock;
pub use error_queue::{PathError, PathErrorKind};
pub use features::{Offloads, offloads};
pub use receive::{RECEIVE_LEN, Received};
pub use send::{Batch, MAX_BATCH_BYTES, MAX_BATCH_DATAGRAMS, MAX_BATCH_PIECES, MAX_BATCHES};
pub use socket::{SocketConfig, UdpSocket};
