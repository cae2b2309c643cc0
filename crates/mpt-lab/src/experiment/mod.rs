//! Experiments: what is measured, written down as files that a user copies and changes.

mod plan;

pub(crate) use plan::{Axis, Cell, Expectation, Plan, PlannedCase, Published, Row};
