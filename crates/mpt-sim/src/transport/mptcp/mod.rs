//! Multipath TCP as RFC 8684 has it: each subflow is a TCP with numbers of its own, and acknowledges what is in sequence
//! on it; numbers of the connection travel beside (data sequence mapping, DATA_ACK); one receive window is shared,
//! relative to DATA_ACK.
//!
//! The model lacks address advertisement, priorities, fallback, checksums and opportunistic retransmission. Data of a subflow that timed out are sent
//! again on others.

mod options;
mod receiver;
mod scheduler;
mod sender;

pub use options::{MSS, Options, SIZES};
pub use receiver::Receiver;
pub use scheduler::Scheduler;
pub use sender::Sender;
