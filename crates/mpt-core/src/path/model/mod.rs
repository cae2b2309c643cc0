//! The model of a path: its estimates from the peer's reports, and the rate that follows from them.
//!
//! The sender keeps the queue of a bottleneck short. As long as packets of a path arrive without
//! delay the path is given more, and where a queue stands it is given less until the queue has
//! drained. Packets that do not fit wait at the tunnel's own ingress, where they can be scheduled.
//!
//! A report passes the files in this order: `observed` records it, `handle` judges it, and the phase acts on it
//! (`phase/startup`, `phase/hold`, `phase/beside`) by a change of the rate or a `phase/cut`. All of them work on one `state`.
//!
//! All times are microseconds of the sender's clock unless said otherwise, all rates bytes per
//! microsecond.

mod bounds;
mod capacity;
mod estimate;
mod foretold;
mod handle;
mod limits;
pub(crate) mod observed;
mod phase;
mod report;
mod state;

pub(crate) use capacity::Capacity;
pub use estimate::Estimate;
pub(crate) use report::{Pause, Present, Report};
pub(crate) use state::Model;

#[cfg(test)]
mod tests;
