//! The text of an experiment: the places of its values, variables that are replaced, and quantities with their units.

pub(super) mod source;
pub(super) mod template;
pub(super) mod units;
