//! Text that people read and write, for every program of ours: tables, quantities with units, positions in a file, and
//! (with the feature `manual`) manual pages and shell completions.
#![forbid(unsafe_code)]

#[cfg(feature = "manual")]
pub mod manual;
pub mod position;
pub mod quantity;
pub mod roff;
pub mod table;
