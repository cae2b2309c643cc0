//! The tunnel in virtual time: two endpoints of `mpt-core`, joined by links of `mpt-link`, carry one TCP flow from a
//! host behind the one to a host behind the other.
//!
//! It is the code of the daemon that decides about every packet: real headers are made and read, numbers are dealt out
//! to the paths by their weights, and the receive window puts them in order, acknowledgements too. Only the bytes of the
//! payload are missing, and the processors: nothing takes time but the links.

mod case;
mod host;
mod run;
mod waits;

pub use case::{Case, HEADERS, Path, Profile};
pub use run::{Occupancy, Outcome};
