//! The text of the file: tables and keys where they stand, the forms of values, and what is wrong with them.

pub(super) mod diagnostic;
pub(super) mod form;
pub(super) mod reader;
pub(super) mod values;
