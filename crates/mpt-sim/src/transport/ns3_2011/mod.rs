//! The profile `ns3-2011`: the Multipath TCP of the simulator behind Alheid et al. 2014, as it behaved.
//!
//! This profile differs from the RFCs in nearly everything that matters, and each such difference is named where it is made. Above all its receiver
//! does not acknowledge what is in sequence on its subflow but ahead of the connection: that makes duplicate acknowledgements out of a difference in
//! delay. Its numbers are those of the paper; they are not those of Multipath TCP, which is the profile `rfc`.

mod congestion;
mod dsack;
mod frto;
mod log;
mod options;
mod packet;
mod receiver;
mod sender;
mod subflow;

pub use congestion::Congestion;
pub use log::ThroughputLog;
pub use options::{Options, Treatment};
pub(crate) use packet::PATHS;
pub use packet::{Ack, Data, MSS};
pub use receiver::Receiver;
pub use sender::Sender;
