//! The state of the tunnel: at one glance, live in a terminal or in a browser, and event by event.

pub(super) mod dashboard;
mod measured;
pub(super) mod monitor;
pub(super) mod status;
pub(super) mod top;
mod watched;
