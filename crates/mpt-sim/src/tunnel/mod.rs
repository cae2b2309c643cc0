//! The tunnel in virtual time: two nodes of `mpt-core`, joined by links of `mpt-link`, carry one TCP flow from a host
//! behind the one to a host behind the other.
//!
//! The code of the daemon decides about every packet: sessions are opened, paths are probed, real headers are made and read, numbers are dealt out to
//! the paths, and the receive window puts them in order, acknowledgements too. Only the bytes of the payload are missing, and the processors: nothing
//! takes time but the links.

mod case;
mod datagrams;
mod end;
mod fair;
mod outcome;
mod plan;
mod run;
mod scene;
mod traffic;
mod world;

pub(crate) use case::WARM_UP;
pub use case::{Case, HEADERS, Path, Profile};
pub use outcome::record::{LinkSample, Record, Sample, Trip};
pub use outcome::{Occupancy, Outcome};
pub use plan::{EchoPlan, FlowPlan, StreamPlan, TunnelPlan, Via};
pub use scene::Scene;
pub use traffic::content::EchoKind;
