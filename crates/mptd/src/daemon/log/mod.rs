//! Lines of the log: what others provoke is bounded, and the protocol of the prototype and missing seals are noted.

mod bounds;
mod prototypes;
pub(super) mod provoked;
mod unsealed;
