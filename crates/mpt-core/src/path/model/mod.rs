//! What is learnt of a path from the peer's reports, and the rate that follows from it.
//!
//! The sender keeps the queue of a bottleneck short: as long as packets of a path come without delay
//! the path is given more, and where a queue stands it is given less, until the queue has drained. What
//! does not fit waits at the tunnel's own ingress, where it can be scheduled.
//!
//! A report passes the files in this order: `observed` records it, `handle` judges it, and the phase acts on it
//! (`startup`, `hold`, `beside`) by a change of the rate or a `cut`. All of them work on one `state`.
//!
//! All times are microseconds of the sender's clock unless said otherwise, all rates bytes per
//! microsecond.

mod beside;
mod bounds;
mod cut;
mod drain;
mod estimate;
mod handle;
mod hold;
mod limits;
pub(crate) mod observed;
mod phase;
mod report;
mod startup;
mod state;

pub use estimate::Estimate;
pub(crate) use report::{Pause, Present, Report};
pub(crate) use state::Model;

#[cfg(test)]
mod tests;
