//! The text of an experiment: where things stand in it, variables whose values are put in, and quantities with their units.

pub(super) mod source;
pub(super) mod template;
pub(super) mod units;
