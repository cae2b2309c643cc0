//! The multipath tunnel daemon: what `main` puts together.
#![forbid(unsafe_code)]

pub mod config;
