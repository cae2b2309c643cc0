//! The reordering study (Alheid, Kaleshi, Doufexi: An Analysis of the Impact of Out-Of-Order Recovery Algorithms on
//! MPTCP Throughput, AINA 2014): its network, its runs, its metrics.

mod case;
mod contest;
mod outcome;
pub mod paper;
mod parallel;
mod path;
mod reproduction;
mod standard;
mod statistics;

pub use case::{Case, FILE, Profile, control_name, treatment_name};
pub use contest::{Contest, Rates};
pub use outcome::{Logged, Outcome, State, TIME_LIMIT};
pub use parallel::in_parallel;
pub use path::{Fluctuation, PathPlan, join};
pub use reproduction::Reproduction;
pub use standard::Standard;
pub use statistics::{Spread, median};
