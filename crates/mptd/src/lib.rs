//! The multipath tunnel daemon: what `main` puts together.
#![forbid(unsafe_code)]

pub mod args;
mod caps;
pub mod check;
pub mod clients;
pub mod control;
mod convert;
pub mod daemon;
pub mod data;
pub mod logging;
pub mod privileges;
mod resolver;
pub mod service;
