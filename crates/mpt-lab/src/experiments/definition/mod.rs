//! Experiments: the descriptions of measurements, as files that a user copies and changes.
//!
//! A file is read in three steps. Its text becomes a tree of values that know their lines, and variables are put in for
//! each cell (both in [`syntax`]). Then each cell's tree becomes types ([`mod@file`]) that are checked and turned into
//! measurements ([`network`], [`rows`], [`traffic`]). Everything is checked before anything is created.

mod catalogue;
mod file;
mod load;
mod mode;
mod network;
mod observation;
mod plan;
mod rows;
mod syntax;
mod traffic;

#[cfg(test)]
mod tests;

pub(crate) use catalogue::{names, text};
pub(crate) use load::load;
pub(crate) use mode::Mode;
#[cfg(test)]
pub(crate) use plan::Published;
pub(crate) use plan::{Axis, Cell, Expectation, Plan, PlannedCase, Row};
