//! TCP as the RFCs have it, as state machines without I/O: congestion control (RFC 5681), loss recovery with and
//! without selective acknowledgements (RFC 6675, RFC 6582), retransmission timer (RFC 6298), timestamps (RFC 7323), and
//! six treatments of reordering.
//!
//! Simplifications: sequence numbers count segments of one size, in 64 bits; the handshake is one segment and its
//! acknowledgement; connections have no end; every segment is acknowledged at once.

mod config;
mod hystart;
mod marks;
mod receiver;
mod recovery;
mod rtt;
mod segment;
mod sender;
mod subflow;

pub use config::{Config, Treatment};
pub use receiver::{HalfReceiver, Receiver};
pub use rtt::RttEstimator;
pub use segment::{Ack, BLOCKS, Block, Ecn, Segment, WireSizes};
pub use sender::Sender;
pub use subflow::{Counters, Subflow};
