//! The command line: its arguments, their completion in a shell, and the manual pages that are made of them.

pub(super) mod args;
mod completed_names;
pub(super) mod completions;
pub(super) mod manual;
