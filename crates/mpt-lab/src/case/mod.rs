//! One measurement: from its specification to its result.

mod result;
mod spec;

pub(crate) use result::{CaseResult, Environment, Flag, Series, metric};
pub(crate) use spec::{
    Action, Backend, CaseSpec, ChannelSpec, Event, LinkSpec, MediumSpec, Method, NetworkSpec,
    Protocol, Traffic, TunnelSpec,
};
