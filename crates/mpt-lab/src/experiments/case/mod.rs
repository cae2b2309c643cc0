//! One measurement: from its specification to its result.
//!
//! ```text
//! CaseSpec -> network (two namespaces, links) -> method (daemons, kernel MPTCP, another tunnel) -> traffic, events -> CaseResult
//! ```
//!
//! Everything that is made belongs to a value that removes it when it is dropped, so that every way out cleans up. [`environment::leftovers`] removes
//! the leftovers of a laboratory that was killed before the next one begins.

mod beside;
mod command;
mod environment;
mod method;
mod network;
mod observation;
mod result;
mod run;
mod spec;
mod traffic;

pub(crate) use command::{Options, run as run_command};
pub(crate) use environment::environment;
pub(crate) use environment::laboratory::Laboratory;
pub(crate) use environment::missing::missing;
pub(crate) use method::adapter;
pub(crate) use observation::{Beside, Observation, Over, Step, Target};
pub(crate) use result::{CaseResult, Environment, Flag, Series, metric};
pub(crate) use run::run;
pub(crate) use spec::duration::{expected_duration, forward_rate};
pub(crate) use spec::{
    Action, Backend, CaseSpec, ChannelSpec, Event, LinkSpec, MediumSpec, Method, NetworkSpec,
    Protocol, Traffic, TunnelSpec,
};
