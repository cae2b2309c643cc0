//! One measurement: from its specification to its result.
//!
//! ```text
//! CaseSpec -> network (two namespaces, links) -> method (daemons, kernel MPTCP, another tunnel) -> traffic, events -> CaseResult
//! ```
//!
//! Everything that is made belongs to a value that removes it when it is dropped, so that every way out cleans up; what a laboratory
//! that was killed left behind, [`leftovers`] removes before the next one begins.

mod analysis;
mod beside;
mod command;
mod counters;
mod cpu;
mod duration;
mod environment;
mod laboratory;
mod leftovers;
mod method;
mod missing;
mod network;
mod observation;
mod result;
mod run;
mod settings;
mod spec;
mod traffic;
mod watch;

pub(crate) use command::{Options, run as run_command};
pub(crate) use duration::{expected_duration, forward_rate};
pub(crate) use environment::environment;
pub(crate) use laboratory::Laboratory;
pub(crate) use method::adapter;
pub(crate) use missing::missing;
pub(crate) use observation::{Beside, Observation, Over, Step, Target};
pub(crate) use result::{CaseResult, Environment, Flag, Series, metric};
pub(crate) use run::run;
pub(crate) use spec::{
    Action, Backend, CaseSpec, ChannelSpec, Event, LinkSpec, MediumSpec, Method, NetworkSpec,
    Protocol, Traffic, TunnelSpec,
};
