//! The multipath tunnel daemon: what `main` puts together.
#![forbid(unsafe_code)]

pub mod args;
mod caps;
pub mod check;
mod clients;
pub mod command;
pub mod control;
mod convert;
pub mod daemon;
pub mod data;
mod event_log;
pub mod logging;
pub mod privileges;
mod requester;
mod resolver;
pub mod service;
mod sharing;
pub mod tokens;
