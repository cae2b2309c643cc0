//! Quantities with their units, as programs show them and users write them: "64 MiB", "300 ms", "100 Mbit/s".

pub mod parse;
mod show;

pub use show::{bytes, count, exact_bytes, memory, microseconds, rate};
