//! Networks outside the papers: what the tunnel carries where rates, losses and delays are those of real uplinks.

mod competing;
mod drawn;
mod hard;
mod latency;
mod list;
mod lossy;
mod method;
mod one_flow;
mod real;
mod realtime;
mod runs;
mod steps;

pub(super) use competing::{NAMES as RIVALS, run as competing};
pub(super) use drawn::{NAMES as DRAWN, run as drawn};
pub(super) use hard::{NAMES as HARD_LINKS, run as hard};
pub(super) use latency::{NAMES as SHELLS, run as latency};
pub(super) use list::NAMES;
pub(super) use lossy::{NAMES as LOSSY, run as lossy};
pub use method::METHODS;
pub(super) use real::run as real;
pub(super) use realtime::{NAMES as CALLS, run as realtime};
pub(super) use steps::{NAMES as STEPS, run as steps};
