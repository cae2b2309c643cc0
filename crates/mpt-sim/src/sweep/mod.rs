//! Sweeps: every combination of a plan, one line of JSON each.

mod check;
mod kind;
mod plan;
mod results;
mod tunnel;

pub use check::Fault;
pub use kind::Kind;
pub use plan::{Key, Plan};
pub use results::{Job, run};
pub use tunnel::{TunnelKey, TunnelPlan};
