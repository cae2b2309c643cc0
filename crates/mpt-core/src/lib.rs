//! The multipath tunnel protocol without I/O, clock or randomness.
#![forbid(unsafe_code)]

pub mod reorder;
pub mod sequence;
