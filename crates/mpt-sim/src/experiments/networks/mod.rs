//! Networks outside the papers: what the tunnel carries where rates, losses and delays are those of real uplinks.

mod list;
mod method;
mod musts;
mod real;

pub(super) use list::NAMES;
pub use method::METHODS;
pub(super) use real::run as real;
