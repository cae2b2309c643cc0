//! Sweeps: every combination of a plan, one line of JSON each.

mod plan;
mod results;

pub use plan::{Fault, Key, Plan};
pub use results::run;
